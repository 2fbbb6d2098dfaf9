// A backend for one of the devices; list_devices() is public.
#pragma once

#include <memory>
#include <sfnn/device.hpp>
#include <string>

#include "host/backend/backend.hpp"

namespace sfnn {

using BackendOptions = DeviceOptions;

// Throws ConfigError if there is no such device. note: which device was taken and why, in one
// line; empty if there was no choice.
std::unique_ptr<Backend> make_backend(const BackendOptions&, std::string* note = nullptr);

std::string cuda_build();  // "CUDA 13.0, cuBLAS 13.0.2" that it was built with, or "without CUDA"

}  // namespace sfnn

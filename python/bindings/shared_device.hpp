// A device as Python shares it: between objects, threads and, by mistake, processes.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <sfnn/sfnn.hpp>

namespace sfnn::python {

namespace nb = nanobind;

// The engine's rule is one thread at a time; Use keeps it.
struct SharedDevice {
  explicit SharedDevice(const DeviceOptions& options) : device(options) {}
  // After a fork there is nobody to join: the threads stayed in the other process.
  ~SharedDevice() {
    if (getpid() != process) new Device(device);
  }

  Device device;
  std::recursive_mutex mutex;  // a callback may use the device that is training
  const pid_t process = getpid();
};
using DevicePtr = std::shared_ptr<SharedDevice>;

// While it lives, the device is this thread's and the GIL is free for others.
class Use {
 public:
  explicit Use(SharedDevice& shared) : lock_(ours(shared).mutex) {}
  explicit Use(const DevicePtr& shared) : Use(*shared) {}

 private:
  static SharedDevice& ours(SharedDevice& shared) {
    if (getpid() == shared.process) return shared;
    throw nb::value_error(
        "this was made before the process was forked, and its threads stayed behind: load it "
        "again here, or start processes by 'spawn' or joblib's 'loky'");
  }

  nb::gil_scoped_release no_gil_;
  std::unique_lock<std::recursive_mutex> lock_;
};

// A network or a training with the device that it lies on.
template <class T>
struct OnDevice {
  OnDevice(DevicePtr on, T made) : device(std::move(on)), value(std::move(made)) {}

  DevicePtr device;
  T value;
};

}  // namespace sfnn::python

#include <sfnn/sfnn.hpp>

#include "host/api/impl.hpp"
#include "host/run/session.hpp"

namespace sfnn {

Device::Impl::Impl(const DeviceOptions& wanted)
    : options(wanted), backend(make_backend(wanted, &choice)) {}

Device::Device(const DeviceOptions& options) : impl_(std::make_shared<Impl>(options)) {}

std::string Device::name() const { return impl_->backend->name(); }
std::string Device::description() const { return impl_->backend->describe(); }
std::string Device::choice() const { return impl_->choice; }

MachineOptions machine_of(const Device& device, const std::filesystem::path& data_root) {
  return {.data_root = data_root.string(), .backend = device.impl()->options};
}

std::string library_version() { return program_version(); }

}  // namespace sfnn

// What stands behind the classes of the public headers.
#pragma once

#include <sfnn/sfnn.hpp>

#include "host/devices/registry.hpp"
#include "host/run/assemble.hpp"
#include "host/run/checkpoint.hpp"

namespace sfnn {

struct Device::Impl {
  explicit Impl(const DeviceOptions&);

  DeviceOptions options;
  std::string choice;
  std::unique_ptr<Backend> backend;
};

struct RunConfig::Impl {
  Config config;
};

struct Data::Impl {
  DataSet set;
  bool from_arrays = false;
};

struct Network::Impl {
  Impl(const Device&, Checkpoint);
  Impl(const Impl& other) : Impl(other.device, other.saved) {}

  Model test_model() const { return test_model_of(saved.config, model); }  // as it is tested
  std::optional<Model> proposal() const;                                   // R, if it has one

  Device device;
  Checkpoint saved;  // its weights are the model's
  RunConfig config;
  Model model;
};

const Examples& part_of(DataPart, const DataSet&);
inline Backend& backend_of(const Device& device) { return *device.impl()->backend; }
MachineOptions machine_of(const Device&, const std::filesystem::path& data_root = {});
// The config of a run on these data: arrays are nothing that its data.* keys could name.
Config config_on(const RunConfig&, const Data&);
Data data_of_run(const Config&, const MachineOptions&);  // throws DataError: require_data_inside
void require_fit(const Network&, const Data&);           // throws ConfigError

}  // namespace sfnn

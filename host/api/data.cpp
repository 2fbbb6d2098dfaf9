#include <sfnn/data.hpp>

#include "host/api/impl.hpp"
#include "host/data/arrays.hpp"
#include "host/run/pictures.hpp"

namespace sfnn {

const Examples& part_of(DataPart part, const DataSet& set) {
  switch (part) {
    case DataPart::train:
      return set.train;
    case DataPart::valid:
      return set.valid;
    case DataPart::test:
      return set.test;
  }
  throw ShapeError("there is no such part of the data");
}

Data Data::from_arrays(const ArrayShape& shape, const Arrays& train, const Arrays& test,
                       const Arrays& valid) {
  return Data(std::make_shared<Impl>(
      Impl{data_of_arrays(shape, train, test, valid), /*from_arrays=*/true}));
}

Data Data::load(const RunConfig& config, const std::filesystem::path& root) {
  return Data(
      std::make_shared<Impl>(Impl{data_of(config.impl().config, {.data_root = root.string()})}));
}

std::string Data::name() const { return impl_->set.name; }
std::string Data::output() const { return std::string(to_string(impl_->set.output)); }
std::int64_t Data::inputs() const { return impl_->set.D_in; }
std::int64_t Data::outputs() const { return impl_->set.D_out; }
bool Data::has_pictures() const { return can_show(impl_->set); }

std::int64_t Data::examples(DataPart part) const { return part_of(part, impl_->set).count; }

Config config_on(const RunConfig& wanted, const Data& data) {
  Config config = wanted.impl().config;
  config.validate();
  if (data.impl()->from_arrays) config.data.set = kArrays;
  return config;
}

Data data_of_run(const Config& config, const MachineOptions& machine) {
  require_data_inside(config, machine, {});
  return Data(std::make_shared<Data::Impl>(Data::Impl{data_of(config, machine)}));
}

}  // namespace sfnn

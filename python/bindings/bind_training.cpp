#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <sfnn/sfnn.hpp>

#include "python/bindings/bind.hpp"
#include "python/bindings/listener.hpp"
#include "python/bindings/shared_device.hpp"

namespace sfnn::python {

using namespace nb::literals;

namespace {

using Self = OnDevice<Training>;

// False: stopped early. What was raised meanwhile is raised now; the training can continue.
bool run(Self& self, nb::object step, nb::object epoch) {
  Listener listener({std::move(step), std::move(epoch), nb::none(), nb::none()});
  bool finished = false;
  {
    const Use use(self.device);
    finished = self.value.run(listener.callbacks());
  }
  listener.raise();
  return finished;
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<ProgressFigures>(m, "Progress", "Where a training is.")
      .def_ro("epoch", &ProgressFigures::epoch)
      .def_ro("epochs", &ProgressFigures::epochs)
      .def_ro("step", &ProgressFigures::step)
      .def_ro("total_steps", &ProgressFigures::total_steps)
      .def_ro("C_hat", &ProgressFigures::C_hat)
      .def_ro("valid_nll", &ProgressFigures::valid_nll)
      .def_ro("valid_nll_proposal", &ProgressFigures::valid_nll_proposal)
      .def_ro("valid_error", &ProgressFigures::valid_error)
      .def_ro("examples_per_second", &ProgressFigures::examples_per_second)
      .def_ro("seconds_left", &ProgressFigures::seconds_left);

  nb::class_<Self>(m, "Training", "A training in memory.")
      .def(
          "__init__",
          [](Self* self, const DevicePtr& device, const Data& data, const RunConfig& config) {
            const Use use(device);
            new (self) Self(device, Training(device->device, data, config));
          },
          "device"_a, "data"_a, "config"_a)
      .def_static(
          "start_from",
          [](const OnDevice<Network>& network, const Data& data, const RunConfig& config) {
            const Use use(network.device);
            return Self(network.device, Training(network.value, data, config));
          },
          "network"_a, "data"_a, "config"_a)
      .def_static(
          "extend",
          [](const OnDevice<Network>& network, const Data& data, const RunConfig& config) {
            const Use use(network.device);
            return Self(network.device, Training::extend(network.value, data, config));
          },
          "network"_a, "data"_a, "config"_a)
      .def("run", &run, "step"_a.none() = nb::none(), "epoch"_a.none() = nb::none())
      .def("network",
           [](const Self& self) {
             const Use use(self.device);
             return OnDevice<Network>(self.device, self.value.network());
           })
      .def(
          "save",
          [](const Self& self, const std::filesystem::path& path) {
            const Use use(self.device);
            self.value.save(path);
          },
          "path"_a)
      .def_prop_ro("steps", [](const Self& self) { return self.value.steps(); })
      .def_prop_ro("total_steps", [](const Self& self) { return self.value.total_steps(); })
      .def_prop_ro("steps_per_epoch", [](const Self& self) { return self.value.steps_per_epoch(); })
      .def_prop_ro("finished", [](const Self& self) { return self.value.finished(); });
}

}  // namespace sfnn::python

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <sfnn/sfnn.hpp>

#include "python/bindings/bind.hpp"

namespace sfnn::python {

namespace nb = nanobind;

void bind_config(nb::module_& m) {
  nb::class_<ConfigOption>(m, "ConfigOption", "One option of a config.")
      .def_ro("key", &ConfigOption::key)
      .def_ro("default", &ConfigOption::value)
      .def_ro("help", &ConfigOption::help)
      .def_ro("choices", &ConfigOption::choices);

  nb::class_<RunConfig>(m, "RunConfig", "What a run is asked to do: values by key, as texts.")
      .def(nb::init<>())
      .def(nb::init<const RunConfig&>())
      .def_static("from_file", &RunConfig::from_file, nb::arg("path"))
      .def_static("from_toml", &RunConfig::from_toml, nb::arg("text"))
      .def(
          "set",
          [](RunConfig& config, std::string_view key, std::string_view value) {
            config.set(key, value);
          },
          nb::arg("key"), nb::arg("value"))
      .def("get", &RunConfig::get, nb::arg("key"))
      .def("to_toml", &RunConfig::to_toml)
      .def("validate", &RunConfig::validate)
      .def_static("options", &RunConfig::options)
      .def(
          "__eq__",
          [](const RunConfig& a, nb::handle b) {
            return nb::isinstance<RunConfig>(b) && a == nb::cast<const RunConfig&>(b);
          },
          nb::arg("other").none());
}

}  // namespace sfnn::python

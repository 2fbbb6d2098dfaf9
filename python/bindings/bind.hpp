// The parts of the module sfnn._engine.
#pragma once

#include <nanobind/nanobind.h>

#include <sfnn/data.hpp>
#include <string>

namespace sfnn::python {

DataPart part_of(const std::string& name);  // throws ConfigError

void bind_errors(nanobind::module_&);
void bind_config(nanobind::module_&);
void bind_network(nanobind::module_&);
void bind_training(nanobind::module_&);
void bind_runs(nanobind::module_&);

}  // namespace sfnn::python

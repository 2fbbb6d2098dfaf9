// Flags that several commands share, so that they read alike in all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "host/app/assemble.hpp"

namespace sfnn {

void add_machine_options(CLI::App&, MachineOptions&);
void add_settings(CLI::App&, std::vector<std::string>& settings);
void add_run(CLI::App&, std::string& run, bool& best);
std::string examples(const std::string& lines);  // for the foot of a --help

}  // namespace sfnn

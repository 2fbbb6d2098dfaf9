// Flags that several commands share, so that they read alike in all of them.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "host/run/assemble.hpp"

namespace sfnn {

void add_machine_options(CLI::App&, MachineOptions&);
void add_settings(CLI::App&, std::vector<std::string>& settings);
void add_run(CLI::App&, std::string& run, bool& best);
CLI::Validator from_to(std::int64_t low, std::int64_t high);  // one that leaves the help alone
CLI::Validator not_empty();      // a variable that a script forgot to set is not a wish
CLI::Validator existing_path();  // else exit code 2: what is missing was named on the command line
// Throws ConfigError, before anything is computed, where a file that is to be written has another
// ending, which may be a run's own file, or is nothing that can be written. Pipes need no ending.
void require_output(const std::string& option, const std::string& path,
                    std::initializer_list<const char*> endings);
std::string exit_codes();
std::string examples(const std::string& lines);  // the foot of a --help, with the exit codes

void print_network(const NetworkSpec&);  // with its tensors
void warn(const std::string& line);      // on stderr; where that fails, nothing happens

}  // namespace sfnn

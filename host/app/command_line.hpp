// Flags that several commands share, so that they are the same in all of them.
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
void add_seeds(CLI::App&, std::int64_t& draws);  // --seeds K of an evaluation
void add_search_epochs(CLI::App&, std::int64_t& epochs);
void add_json(CLI::App&, bool& json);  // --json: for programs, on stdout; docs/json.md
CLI::Validator from_to(std::int64_t low, std::int64_t high);  // adds nothing to the help
CLI::Validator not_empty();      // rejects "": usually an unset shell variable
CLI::Validator existing_path();  // if missing: exit code 2, as it was named on the command line
// Throws ConfigError, before anything is computed, if an output path has the wrong extension, a
// missing folder, or a name that a run uses itself. Pipes need no extension.
void require_output(const std::string& option, const std::string& path,
                    std::initializer_list<const char*> endings);
std::string exit_codes();
std::string examples(const std::string& lines);  // the end of a --help text, with the exit codes

// How the program was called, for commands to copy: "sfnn", "build/cpu/sfnn", "./run sfnn".
std::string called_as();
std::string shell_word(const std::string& text);  // in quotes, if a shell would read it otherwise

void print_network(const NetworkSpec&, const NetworkSpec* R = nullptr);  // with its tensors
void warn(const std::string& line);  // on stderr; a failure to print is ignored

}  // namespace sfnn

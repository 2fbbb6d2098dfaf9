#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "host/app/commands.hpp"
#include "host/app/fetch.hpp"
#include "host/app/signals.hpp"
#include "host/backend/error.hpp"
#include "host/data/search_path.hpp"

namespace sfnn {
namespace {

struct DataCommand {
  std::string set, from, to;
};

const PublicData& named(const std::string& set) {
  for (const PublicData& data : public_data())
    if (data.set == set) return data;
  throw ConfigError("no public data set is called " + set);
}

int run_data(const DataCommand& command) {
  const std::filesystem::path to =
      command.to.empty() ? cache_folder() : std::filesystem::path(command.to);
  if (to.empty()) throw ConfigError("there is no home directory: say where to put it with --to");
  catch_stop_signals();
  const Fetched end =
      fetch(named(command.set), {.from = command.from,
                                 .to = to,
                                 .say = [](const std::string& line) { fmt::print("{}\n", line); },
                                 .stop = stop_requested});
  if (end == Fetched::stopped) {
    fmt::print("stopped; the same command goes on from here\n");
    return kStopped;
  }
  fmt::print("{} is in {}\n", command.set, (to / command.set).string());
  return kDone;
}

}  // namespace

void add_data_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<DataCommand>();
  auto* sub = app.add_subcommand("data", "Fetch a public data set and check that it is whole");
  std::vector<std::string> sets;
  for (const PublicData& data : public_data()) sets.push_back(data.set);
  sub->add_option("set", command->set, "Which one")->required()->check(CLI::IsMember(sets));
  sub->add_option("--from", command->from, "A folder or a URL that has the files, not the mirrors");
  sub->add_option("--to", command->to,
                  "Where its folder goes (else ~/.cache/sfnn, where train looks)");
  sub->footer(
      "Examples:\n  sfnn data mnist\n  sfnn data fashion-mnist --to ~/data\n"
      "  sfnn data mnist --from /media/usb/mnist\n\n"
      "A transfer that was interrupted goes on where it broke off.");
  sub->callback([command, &code] { code = run_data(*command); });
}

}  // namespace sfnn

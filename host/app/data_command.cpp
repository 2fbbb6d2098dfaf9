#include <fmt/format.h>

#include <memory>

#include "host/app/command_line.hpp"
#include "host/app/commands.hpp"
#include "host/app/fetch.hpp"
#include "host/app/signals.hpp"
#include "host/app/terminal_progress.hpp"
#include "host/base/error.hpp"
#include "host/data/search_path.hpp"

namespace sfnn {
namespace {

struct DataCommand {
  std::string set, from, to;
};

const PublicData& named(const std::string& set) {
  for (const PublicData& data : public_data())
    if (data.set == set) return data;
  throw ConfigError("there is no public data set called " + set);
}

int run_data(const DataCommand& command) {
  const std::filesystem::path to =
      command.to.empty() ? cache_folder() : std::filesystem::path(command.to);
  if (to.empty()) throw ConfigError("there is no home directory: say where to put it with --to");
  catch_stop_signals();
  TerminalProgress progress(TerminalProgress::suitable_mode(/*quiet=*/false));
  const auto show = [&](const std::string& name, std::int64_t bytes, std::int64_t all) {
    if (!progress.due()) return;
    progress.show(fmt::format("{}: {:.1f} of {:.1f} MB, {:.0f} %", name, double(bytes) / 1e6,
                              double(all) / 1e6, 100 * double(bytes) / double(all)));
  };
  const Fetched end =
      fetch(named(command.set), {.from = command.from,
                                 .to = to,
                                 .say = [&](const std::string& line) { progress.say(line); },
                                 .show = show,
                                 .stop = stop_requested});
  if (end == Fetched::stopped) {
    progress.say("stopped; run the same command again to continue");
    return kStopped;
  }
  progress.say(fmt::format("{} is in {}", command.set, (to / command.set).string()));
  return kDone;
}

}  // namespace

void add_data_command(CLI::App& app, int& code) {
  const auto command = std::make_shared<DataCommand>();
  auto* sub =
      app.add_subcommand("data", "Download a public data set and check that it is complete");
  std::vector<std::string> sets;
  for (const PublicData& data : public_data()) sets.push_back(data.set);
  sub->add_option("set", command->set, "Name of the data set")
      ->required()
      ->check(CLI::IsMember(sets));
  sub->add_option("--from", command->from,
                  "Folder or URL that has the files, plain or .gz, instead of the mirrors")
      ->check(not_empty());
  sub->add_option("--to", command->to,
                  "Parent folder of the data set (else ~/.cache/sfnn, where train looks)")
      ->check(not_empty());
  sub->footer("An interrupted download continues where it stopped.\n\n" +
              examples("  sfnn data mnist\n  sfnn data fashion-mnist --to ~/data\n"
                       "  sfnn data mnist --from /media/usb/mnist"));
  sub->callback([command, &code] { code = run_data(*command); });
}

}  // namespace sfnn

#include "host/run/nearest_key.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/base/nearest.hpp"
#include "host/run/config.hpp"

namespace sfnn {
namespace {

// What people type who come from other programs.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"lr", "train.learning_rate"},
    {"bs", "train.batch"},
    {"layers", "net.hidden"},
    {"dataset", "data.set"},
    {"loss", "data.output"},
    {"optim", "train.optimizer"},
    {"wd", "train.weight_decay"},
    {"l2", "train.weight_decay"},
    {"clip", "train.clip_norm"},
    {"grad_clip", "train.clip_norm"},
    {"clip_grad_norm", "train.clip_norm"},
    {"max_grad_norm", "train.clip_norm"},
    {"scheduler", "train.schedule"},
    {"lr_scheduler", "train.schedule"},
    {"lr_schedule", "train.schedule"},
    {"warmup", "train.warmup_epochs"},
    {"early_stopping", "train.patience"},
    {"eps", "train.epsilon"}};

std::string_view name_of(std::string_view key) { return key.substr(key.find('.') + 1); }
std::string_view section_of(std::string_view key) {
  return key.substr(0, key.size() - name_of(key).size());
}

// Is one of the words of `name`, which underscores part, the other? 'num_epochs' means 'epochs'.
bool has_word(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word), end = at + word.size();
  return word.size() > 3 && at != std::string_view::npos && (at == 0 || name[at - 1] == '_') &&
         (end == name.size() || name[end] == '_');
}

}  // namespace

std::string nearest_key(std::string_view typed) {
  const std::string_view name = name_of(typed);
  const auto alias =
      std::ranges::find(kAliases, name, &std::pair<std::string_view, std::string_view>::first);
  if (alias != std::end(kAliases)) return std::string(alias->second);
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigOption& option : config_options()) {
    const std::string_view word = name_of(option.key);
    if (!is_near(name, word) && !has_word(name, word)) continue;
    const std::size_t distance =
        2 * edit_distance(name, word) + (section_of(option.key) != section_of(typed));
    if (distance < least) {
      least = distance;
      nearest = option.key;
    }
  }
  return nearest;
}

}  // namespace sfnn

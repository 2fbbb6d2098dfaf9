#include <fmt/format.h>

#include <algorithm>
#include <sfnn/config.hpp>

#include "host/api/impl.hpp"
#include "host/base/error.hpp"

namespace sfnn {

RunConfig::RunConfig() : RunConfig(Impl{}) {}
RunConfig::RunConfig(Impl impl) : impl_(std::make_unique<Impl>(std::move(impl))) {}
RunConfig::RunConfig(std::initializer_list<std::pair<std::string_view, std::string_view>> values)
    : RunConfig() {
  for (const auto& [key, value] : values) set(key, value);
}
RunConfig::RunConfig(const RunConfig& other) : RunConfig(*other.impl_) {}
RunConfig::RunConfig(RunConfig&&) noexcept = default;
RunConfig& RunConfig::operator=(const RunConfig& other) { return *this = RunConfig(other); }
RunConfig& RunConfig::operator=(RunConfig&&) noexcept = default;
RunConfig::~RunConfig() = default;

RunConfig RunConfig::from_file(const std::filesystem::path& path) {
  return RunConfig(Impl{load_config(path)});
}
RunConfig RunConfig::from_toml(std::string_view text) {
  return RunConfig(Impl{sfnn::from_toml(text, "config")});
}

RunConfig& RunConfig::set(std::string_view key, std::string_view value) {
  apply_setting(impl_->config, fmt::format("{}={}", key, value));
  return *this;
}
RunConfig& RunConfig::set_real(std::string_view key, double value) {
  return set(key, std::string_view(fmt::format("{}", value)));  // reads back as the same number
}

std::string RunConfig::get(std::string_view key) const {
  const auto texts = key_texts(impl_->config);
  const auto found = std::ranges::find(texts, key, [](const auto& text) { return text.first; });
  require(found != texts.end(), fmt::format("unknown key '{}'", key));
  return found->second;
}
std::string RunConfig::to_toml() const { return sfnn::to_toml(impl_->config); }
void RunConfig::validate() const { impl_->config.validate(); }
std::vector<ConfigOption> RunConfig::options() { return config_options(); }

bool operator==(const RunConfig& a, const RunConfig& b) {
  return differences(a.impl_->config, b.impl_->config).empty();
}

}  // namespace sfnn

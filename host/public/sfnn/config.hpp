// What a run is asked to do, as keys and values: data, network, training, checkpoints, evaluation.
// The same keys are in config files and on the command line (`sfnn train --help`).
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sfnn {

struct ConfigOption {
  std::string key;    // "train.epochs"
  std::string value;  // its default
  std::string help;
  std::vector<std::string> choices;  // empty: any value
};

// A value: copies are independent. Whatever reads or sets a key throws ConfigError, one sentence
// that names the key, the value and what is allowed.
class RunConfig {
 public:
  RunConfig();  // every option has its default
  // RunConfig{{"net.hidden", "200s,200s"}, {"train.epochs", "5"}}
  RunConfig(std::initializer_list<std::pair<std::string_view, std::string_view>>);
  RunConfig(const RunConfig&);
  RunConfig(RunConfig&&) noexcept;
  RunConfig& operator=(const RunConfig&);
  RunConfig& operator=(RunConfig&&) noexcept;
  ~RunConfig();

  static RunConfig from_file(const std::filesystem::path& toml);
  static RunConfig from_toml(std::string_view text);

  RunConfig& set(std::string_view key, std::string_view value);  // lists: "200s,200s"
  RunConfig& set(std::string_view key, const char* value) {
    return set(key, std::string_view(value));
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> RunConfig& set(std::string_view key, Number value) {
    if constexpr (std::is_same_v<Number, bool>) {
      return set(key, value ? "true" : "false");
    } else if constexpr (std::is_integral_v<Number>) {
      return set(key, std::string_view(std::to_string(value)));
    } else {
      return set_real(key, double(value));
    }
  }

  std::string get(std::string_view key) const;  // as set takes it
  std::string to_toml() const;                  // every option, with its help
  void validate() const;                        // checks what concerns several keys

  static std::vector<ConfigOption> options();  // all keys there are
  friend bool operator==(const RunConfig&, const RunConfig&);

  struct Impl;  // the library's own
  explicit RunConfig(Impl);
  const Impl& impl() const { return *impl_; }

 private:
  RunConfig& set_real(std::string_view key, double value);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sfnn

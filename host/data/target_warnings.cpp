#include "host/data/target_warnings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sfnn {
namespace {

constexpr double kWidest = 3, kNarrowest = 0.01;  // times the deviation of the targets
constexpr std::size_t kMostNamed = 5;             // classes

std::optional<std::string> absent_classes(const DataSet& data) {
  std::vector<bool> seen(data.D_out);
  for (std::int64_t n = 0; n < data.train.count; ++n)
    seen[std::size_t(data.train.y.at(n, 0))] = true;
  std::vector<std::int64_t> absent;
  for (std::int64_t k = 0; k < data.D_out; ++k)
    if (!seen[k]) absent.push_back(k);
  if (absent.empty()) return std::nullopt;
  const std::size_t count = absent.size();
  if (count > kMostNamed) absent.resize(kMostNamed);
  return fmt::format("{} of the classes 0 to {} never {} in the training examples: {}{}", count,
                     data.D_out - 1, count == 1 ? "occurs" : "occur", fmt::join(absent, ", "),
                     count > kMostNamed ? ", ..." : "");
}

std::optional<std::string> odd_sigma(const DataSet& data, double sigma) {
  const double deviation = deviation_of_targets(data);
  if (deviation == 0 || (sigma < kWidest * deviation && sigma > kNarrowest * deviation))
    return std::nullopt;
  const bool wide = sigma > deviation;
  return fmt::format("net.sigma = {} is far {} the standard deviation of the targets, {:.3g}: {}",
                     sigma, wide ? "above" : "below", deviation,
                     wide ? "try net.sigma = learnt, or the deviation that you expect"
                          : "try data.standardize = both");
}

}  // namespace

std::vector<std::string> target_warnings(const DataSet& data, std::optional<double> sigma) {
  std::optional<std::string> found;
  if (row_of(data.output).class_target) found = absent_classes(data);
  if (data.output == Output::gaussian && sigma) found = odd_sigma(data, *sigma);
  return found ? std::vector{*found} : std::vector<std::string>();
}

}  // namespace sfnn

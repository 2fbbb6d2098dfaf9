// The learning rate, chosen as the paper does: a grid of {1, 3} x 10^k, a short run of each rate
// on the training examples, and the lowest NLL on the validation examples.
//
// Rates are tried from the highest down. A run is given up at the end of an epoch if C_hat or the
// NLL is not finite, or if, from its second epoch on, it has gained less than half of what the best
// run so far had gained by the same epoch over the untrained network (if there is none yet: nothing
// at all). All runs draw the same numbers, so the choice depends on the config alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/base/names.hpp"
#include "host/run/assemble.hpp"
#include "host/run/progress.hpp"
#include "host/run/run_directory.hpp"

namespace sfnn {

struct RateRange {
  double low = 0, high = 0;
};
RateRange parse_rate_range(const std::string& low_colon_high);  // throws ConfigError
std::vector<double> rate_grid(const RateRange&);                // from the highest down

enum class TrialEnd { finished, hopeless, not_finite };
inline constexpr Names<TrialEnd, 3> kTrialEnds{{{TrialEnd::finished, "finished"},
                                                {TrialEnd::hopeless, "hopeless"},
                                                {TrialEnd::not_finite, "not finite"}}};
constexpr const auto& names_of(TrialEnd) { return kTrialEnds; }

struct RateTrial {
  double rate = 0;
  std::vector<double> valid_nll;  // after each epoch, of the figure that eval.select names
  TrialEnd end = TrialEnd::finished;
  bool by_R = false;  // that is nll_proposal

  const char* key() const { return by_R ? "valid_nll_proposal" : "valid_nll"; }  // of valid_nll
};

std::string words_for(const RateTrial&);  // how it ended: "given up: too slow"

constexpr std::int64_t kMaxSearchEpochs = 1'000'000;

struct RateSearch {
  Config config;  // config of the run to come; its own rate does not matter
  RateRange range;
  std::int64_t epochs = 0;  // length of each short run; 0: a fifth of train.epochs, at least 2
  std::function<bool()> stop = [] { return false; };  // asked after each step
};

// The options of a search, kept in the run directory's search.json from its beginning, so that
// --resume needs nothing else. None: there was no search. Throws DataError, or ConfigError for its
// config, if the file holds anything else.
struct SavedSearch {
  Config config;
  RateRange range;
  std::int64_t epochs = 0;
};
std::optional<SavedSearch> saved_search(const RunDirectory&);
// The trials so far, in the order in which they ended; lines that hold anything else are left out.
std::vector<RateTrial> saved_trials(const RunDirectory&);

inline constexpr const char* kTrialHead = "rate       epochs    valid NLL";
std::string to_row(const RateTrial&);  // fits below kTrialHead

// The best rate; none: stopped. Trials are kept in the run directory's search.jsonl as they end,
// and one found there is not repeated. Throws ConfigError if there is nothing to validate on or if
// other files are in the way, DataError if search.json or search.jsonl holds what no search has
// written, Error if no rate of the grid trains.
std::optional<double> search_rate(Backend&, const MachineOptions&, const DataSet&,
                                  const RateSearch&, RunDirectory&, Progress&);

}  // namespace sfnn

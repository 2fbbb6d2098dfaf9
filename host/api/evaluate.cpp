#include "host/train/evaluate.hpp"

#include <fmt/format.h>

#include <numeric>
#include <sfnn/evaluate.hpp>
#include <sfnn/study.hpp>

#include "host/api/impl.hpp"
#include "host/base/error.hpp"
#include "host/train/estimator_study.hpp"
#include "host/train/predict.hpp"

namespace sfnn {
namespace {

// They lie where the caller has them.
Examples examples_of(const NetworkSpec& spec, const Inputs& inputs) {
  const auto size = std::int64_t(inputs.x.size());
  if (spec.D_in > 0 ? size % spec.D_in != 0 : size > 0) {
    throw ShapeError(fmt::format("{} input numbers are not whole rows of {}", size, spec.D_in));
  }
  const std::int64_t count = spec.D_in > 0 ? size / spec.D_in : inputs.rows;
  return inputs_only(spec, {Borrowed<float>{inputs.x, nullptr}, spec.D_in, 1}, count);
}

StudyOptions study_options(const Network& network, const Data& data,
                           const EstimatorStudyOptions& wanted) {
  const Network::Impl& impl = network.impl();
  StudyOptions options{.train = train_options_of(impl.saved.config, machine_of(impl.device)),
                       .draws = wanted.draws,
                       .reference_particles = wanted.reference_particles};
  if (wanted.progress) options.progress = wanted.progress;
  options.train.particles = wanted.particles.value_or(options.train.particles);
  options.train.batch =
      wanted.batch.value_or(std::min(options.train.batch, data.impl()->set.train.count));
  options.train.tiling = {0, 0};  // the run's own was chosen for its own batch and M
  return options;
}

}  // namespace

Evaluation evaluate(const Network& network, const Data& data, DataPart part,
                    const EvaluateOptions& options) {
  require_fit(network, data);
  const std::optional<Model> R = network.impl().proposal();
  return evaluate(network.impl().test_model(), part_of(part, data.impl()->set), options,
                  R ? &*R : nullptr);
}

std::vector<float> predict(const Network& network, const Inputs& inputs,
                           const PredictOptions& options) {
  const Model model = network.impl().test_model();
  return mean_outputs(model, examples_of(model.spec(), inputs), options);
}

std::vector<float> sample(const Network& network, const Inputs& inputs,
                          const SampleOptions& options) {
  require(options.samples >= 1, "at least one sample per row is needed");
  const Model model = network.impl().test_model();
  const Examples examples = examples_of(model.spec(), inputs);
  std::vector<std::int32_t> rows(examples.count);
  std::iota(rows.begin(), rows.end(), 0);
  SampledOutputs sampled =
      sample_outputs(model, examples, rows, options.samples, options.seed, options.same_draws);
  if (options.expected) return std::move(sampled.means);
  return draw_outputs(model.spec().output, std::move(sampled), examples.count, options.samples,
                      options.seed, options.same_draws);
}

Study study_estimators(const Network& network, const Data& data,
                       const EstimatorStudyOptions& options) {
  require_fit(network, data);
  return study_estimators(network.impl().test_model(), data.impl()->set,
                          study_options(network, data, options));
}

std::vector<NormAtC> norm_against_c(const Network& network, const Data& data,
                                    std::span<const double> cM,
                                    const EstimatorStudyOptions& options) {
  require_fit(network, data);
  return norm_against_c(network.impl().test_model(), data.impl()->set,
                        study_options(network, data, options), cM);
}

}  // namespace sfnn

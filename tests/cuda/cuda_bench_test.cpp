// The GPU benchmark's own work at small shapes, so that it runs the first time on a GPU.
#include <gtest/gtest.h>

#include "bench/lib/cuda_timing.hpp"
#include "host/base/error.hpp"

namespace sfnn::bench {
namespace {

constexpr OpShape kSmall{.N = 5, .M = 3, .H = 9, .D = 13};
constexpr Repetitions kFew{.rounds = 3, .calls = 2};

class CudaBench : public testing::TestWithParam<MathMode> {
 protected:
  CudaBackend eager_{0, GetParam(), false}, graph_{0, GetParam(), true};
  const Math math_ = GetParam();
};

TEST_P(CudaBench, EveryOpIsRightAndCanBeTimed) {
  const auto cases = op_cases(kSmall);
  EXPECT_GT(cases.size(), 30u);
  for (const OpCase& op : cases) {
    SCOPED_TRACE(op.name);
    const OpTime time = time_op(op, op.reads_back ? eager_ : graph_, math_, kFew);
    EXPECT_GT(time.bytes, 0);
    EXPECT_GT(time.ms, 0);
  }
}

TEST_P(CudaBench, AWrongResultIsNotTimed) {
  OpCase op = op_cases(kSmall).front();
  op.run = [run = op.run](Backend& backend, const Operands& in) {
    run(backend, in);
    if (backend.name() == "cuda") backend.fill_zero(in.bits(2).data, 8);
  };
  EXPECT_THROW(time_op(op, graph_, math_, kFew), Error);
}

// Steps move the clock on, and ops read it.
TEST_P(CudaBench, AnOpIsTimedAlikeWhateverRanBefore) {
  const NetworkSpec spec{.D_in = 13, .hidden = {{.n_s = 9}}, .D_out = 13};
  step_ms(graph_, spec, {.particles = 3, .batch = 5}, kFew);
  for (const OpCase& op : op_cases(kSmall)) {
    if (op.name != "gather" && op.name.rfind("sample_hidden", 0) != 0) continue;
    EXPECT_GT(time_op(op, graph_, math_, kFew).ms, 0) << op.name;
  }
}

// A backend may write behind the rows it selects. Shapes of which the last row would stay and of
// which it would not are both among these.
TEST_P(CudaBench, SelectedRowsAreRightAtAnyShape) {
  for (const std::int64_t N : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const OpCase& op : op_cases({.N = N, .M = 2, .H = 3, .D = 3})) {
      if (op.name != "select_rows") continue;
      EXPECT_NO_THROW(time_op(op, eager_, math_, kFew)) << N;
    }
  }
}

TEST_P(CudaBench, StepsAndTheirProducts) {
  const NetworkSpec spec{.D_in = 13, .hidden = {{.n_s = 9}, {.n_s = 9}}, .D_out = 13};
  for (CudaBackend* gpu : {&eager_, &graph_}) {
    check_steps(*gpu, math_);
    const TrainOptions options{.particles = 3, .batch = 2};
    EXPECT_GT(products_ms(*gpu, spec, options, kFew), 0);
    EXPECT_GT(step_ms(*gpu, spec, options, kFew), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Math, CudaBench,
                         testing::Values(MathMode::fp32, MathMode::tf32, MathMode::bf16x3),
                         [](const auto& suite) { return std::string(to_string(suite.param)); });

}  // namespace
}  // namespace sfnn::bench

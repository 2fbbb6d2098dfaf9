// The ranges that a profiler shows, as NVTX receives them: this program is its own profiler.
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include "host/train/evaluate.hpp"
#include "host/train/trainer.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/small_data.hpp"

namespace {

std::string seen;  // "step(forward(layer 1 layer 2) update)"

int on_push(const char* name) {
  if (!seen.empty() && seen.back() != '(') seen += ' ';
  seen += std::string(name) + '(';
  return 0;
}

int on_pop() {
  seen.back() == '(' ? seen.pop_back() : seen.push_back(')');
  return 0;
}

// NVTX calls this before the first range, and passes the address of its function table.
int initialize(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(on_push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(on_pop);
  return 1;
}

// NVTX looks here for a profiler that is part of the program.
const bool injected = (InitializeInjectionNvtx2_fnptr = initialize, true);

}  // namespace

namespace sfnn {
namespace {

const NetworkSpec& spec() {
  static const NetworkSpec spec = network(5, {"4s", "2s+3d", "6s"}, 3, Output::bernoulli);
  return spec;
}

TEST(Ranges, OfAStepLaunchByLaunch) {
  const auto backend = make_test_backend("cuda_fp32");
  const DataSet data = small_data(6, 5, 3, Output::bernoulli);
  Trainer trainer(*backend, spec(), {.particles = 2, .batch = 3, .epochs = 1}, data);
  ASSERT_TRUE(injected);
  seen.clear();
  trainer.train_step();
  EXPECT_EQ(seen,
            "step(gather forward(layer 1 layer 2 layer 3 output) weigh "
            "backward(g_o output layer 3 layer 2 layer 1) update)");
}

// What a replay does was named when it was recorded.
TEST(Ranges, OfAStepAsAGraph) {
  const auto backend = make_test_backend("cuda_fp32", /*graph=*/true);
  const DataSet data = small_data(12, 5, 3, Output::bernoulli);
  Trainer trainer(*backend, spec(), {.particles = 2, .batch = 3, .epochs = 1}, data);
  for (int step = 0; step < 3; ++step) trainer.train_step();
  seen.clear();
  trainer.train_step();
  EXPECT_EQ(seen, "step");
}

TEST(Ranges, OfAnEvaluation) {
  const auto backend = make_test_backend("cuda_fp32");
  const DataSet data = small_data(2, 5, 3, Output::bernoulli);
  const auto host = initial_params(spec(), 1, 1.0);
  const Model model(*backend, spec(), host);
  seen.clear();
  evaluate(model, data.test, {.particles = 3});
  EXPECT_EQ(seen, "evaluate(gather forward(layer 1 layer 2 layer 3 output) weigh)");
}

}  // namespace
}  // namespace sfnn

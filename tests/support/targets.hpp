// Runs a suite once for each instruction set that the CPU backend is compiled for and the machine
// has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "host/backend/cpu/simd.hpp"
// After simd.hpp, which says what is compiled.
#include "hwy/targets.h"

namespace sfnn {

class InstructionSetTest : public testing::TestWithParam<std::int64_t> {
 protected:
  InstructionSetTest() { use(GetParam()); }
  ~InstructionSetTest() override { use(0); }

 private:
  static void use(std::int64_t target) {  // 0: the best one again
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::string instruction_set_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

#define SFNN_INSTANTIATE_FOR_INSTRUCTION_SETS(suite)                               \
  INSTANTIATE_TEST_SUITE_P(InstructionSets, suite,                                 \
                           testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
                           instruction_set_name)

}  // namespace sfnn

#include "host/app/terminal_progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sfnn {
namespace {

using testing::HasSubstr;

TEST(TerminalProgress, MovingLineFitsItsTerminal) {
  const ProgressFigures figures{.epoch = 3,
                                .epochs = 30,
                                .step = 250,
                                .total_steps = 1000,
                                .C_hat = -45.678,
                                .valid_nll = 44.4,
                                .valid_error = 0.0215,
                                .examples_per_second = 10907,
                                .seconds_left = 200};
  const std::string wide = moving_line(figures, 160);
  for (const char* text : {"epoch 3/30", "[#######.......................]", "step 250/1000",
                           "C_hat -45.68", "error 2.15 %", "10907 examples/s", "3 min 20 s left"}) {
    EXPECT_THAT(wide, HasSubstr(text));
  }
  for (const int columns : {160, 110, 100, 80, 40, 1}) {
    EXPECT_LT(moving_line(figures, columns).size(), std::size_t(columns)) << columns;
  }
  EXPECT_THAT(moving_line(figures, 100), HasSubstr("] step 250/1000  C_hat -45.68  valid 44.40"));
  EXPECT_EQ(moving_line(figures, 80),
            "epoch 3/30  [##......] C_hat -45.68  valid 44.40 2.15 %  10907 ex/s  3m20s left");
  EXPECT_EQ(moving_line(figures, 40), "epoch 3/30  3 min 20 s left");
}

}  // namespace
}  // namespace sfnn

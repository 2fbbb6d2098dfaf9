#include "host/backend/worker_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

TEST(WorkerPool, DoesEveryItemOnce) {
  for (int threads : {1, 2, 8}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (std::int64_t items : {0, 1, 2, 5, 100}) {
      std::vector<int> done(items);
      for (int again = 0; again < 20; ++again) {
        pool.run(items, [&](std::int64_t item, int) { ++done[item]; });
      }
      for (int count : done) EXPECT_EQ(count, 20);
    }
  }
}

// Each lane is one thread's at a time, and there are never more lanes than items.
TEST(WorkerPool, LanesAreExclusiveAndDense) {
  WorkerPool pool(5);
  for (std::int64_t items : {2, 3, 50}) {
    std::vector<std::atomic<int>> inside(std::min<std::int64_t>(items, pool.size()));
    for (int again = 0; again < 50; ++again) {
      pool.run(items, [&](std::int64_t, int lane) {
        ASSERT_LT(lane, std::int64_t(inside.size()));
        EXPECT_EQ(inside[lane].fetch_add(1), 0);
        inside[lane].fetch_sub(1);
      });
    }
  }
}

TEST(WorkerPool, AnExceptionReachesTheCallerWithItsMessage) {
  for (int threads : {1, 8}) {
    WorkerPool pool(threads);
    for (int again = 0; again < 20; ++again) {
      try {
        pool.run(50, [](std::int64_t item, int) {
          if (item == 13) throw std::runtime_error("item 13");
        });
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "item 13");
      }
    }
    int done = 0;  // and the pool is still good
    pool.run(1, [&](std::int64_t, int) { ++done; });
    EXPECT_EQ(done, 1);
  }
}

// In a child that may have no more threads than it has.
TEST(WorkerPool, ThreadsThatTheSystemDoesNotStartAreOneSentence) {
  const auto message = [] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("root has no limits");
    const rlimit none{1, 1};
    ::setrlimit(RLIMIT_NPROC, &none);
    try {
      WorkerPool pool(8);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EXIT(
      {
        std::cerr << message() << std::endl;
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "the system starts no more than 1 of 8 threads.*--threads");
}

}  // namespace
}  // namespace sfnn

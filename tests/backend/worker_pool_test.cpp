#include "host/backend/worker_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
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

// Fewer items than threads: every item's team shares its blocks, each member its own ones.
TEST(WorkerPool, ATeamDoesEveryBlockOnceByTheSameThread) {
  for (int threads : {2, 5, 8}) {
    WorkerPool pool(threads);
    for (std::int64_t items : {1, 2, 3}) {
      if (items >= threads) continue;
      for (std::int64_t blocks : {0, 1, 3, 40}) {
        std::vector<std::vector<int>> done(items, std::vector<int>(blocks));
        std::vector<std::vector<std::thread::id>> by(items, std::vector<std::thread::id>(blocks));
        for (int again = 0; again < 20; ++again) {
          pool.run(items, [&](std::int64_t item, int) {
            const int members = int((threads - 1 - item) / items + 1);
            share(blocks, [&](std::int64_t block) {
              ++done[item][block];
              by[item][block] = std::this_thread::get_id();
            });
            for (std::int64_t b = members; b < blocks; ++b)
              EXPECT_EQ(by[item][b], by[item][b % members]);
            for (std::int64_t b = 1; b < std::min<std::int64_t>(members, blocks); ++b)
              EXPECT_NE(by[item][b], by[item][b - 1]);
          });
        }
        for (const std::vector<int>& counts : done)
          for (int count : counts) EXPECT_EQ(count, 20);
      }
    }
  }
}

TEST(WorkerPool, CountsItemsAndBlocksOfEachThread) {
  WorkerPool pool(5);
  EXPECT_THAT(pool.work_done(), testing::Each(0));
  pool.run(2, [](std::int64_t, int) { share(6, [](std::int64_t) {}); });
  // Threads 0, 2, 4 share six blocks of the first item, threads 1 and 3 those of the second.
  EXPECT_THAT(pool.work_done(), testing::ElementsAre(1 + 2, 1 + 3, 2, 3, 2));
}

TEST(WorkerPool, NestedCallsStayOnTheirThread) {
  WorkerPool pool(6);
  const auto same_thread = [](std::thread::id own) {
    return [own](auto...) { EXPECT_EQ(std::this_thread::get_id(), own); };
  };
  share(4, same_thread(std::this_thread::get_id()));
  for (std::int64_t items : {2, 20}) {
    pool.run(items, [&](std::int64_t, int) {
      pool.run(3, same_thread(std::this_thread::get_id()));
      share(3, [&](std::int64_t) {
        share(3, same_thread(std::this_thread::get_id()));
        pool.run(3, same_thread(std::this_thread::get_id()));
      });
    });
  }
}

TEST(WorkerPool, RangesCoverEverythingOnceAndBeginAtUnits) {
  WorkerPool pool(4);
  for (std::int64_t size : {0, 1, 31, 32, 1000}) {
    for (std::int64_t work : {0, 1, 100, 100000}) {
      std::vector<int> done(size);
      pool.run(1, [&](std::int64_t, int) {
        share_range(size, work, 32, [&](std::int64_t first, std::int64_t count) {
          EXPECT_EQ(first % 32, 0);
          EXPECT_GT(count, 0);
          for (std::int64_t i = first; i < first + count; ++i) ++done[i];
        });
      });
      EXPECT_THAT(done, testing::Each(1));
    }
  }
}

TEST(WorkerPool, AnExceptionInABlockReachesTheItemOnceAllMembersHaveStopped) {
  WorkerPool pool(8);
  for (std::int64_t bad : {0, 1, 3}) {  // the leader's own, its helpers'
    for (int again = 0; again < 20; ++again) {
      std::atomic<int> inside = 0;
      int caught = 0;
      pool.run(1, [&](std::int64_t, int) {
        try {
          share(64, [&](std::int64_t block) {
            ++inside;
            if (block % 4 == bad) {
              --inside;
              throw std::runtime_error("a block");
            }
            --inside;
          });
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "a block");
          EXPECT_EQ(inside, 0);
          ++caught;
        }
        share(64, [&](std::int64_t) { ++inside; });  // and the team is still good
      });
      EXPECT_EQ(caught, 1);
      EXPECT_EQ(inside, 64);
      EXPECT_THROW(pool.run(2,
                            [&](std::int64_t, int) {
                              share(8, [&](std::int64_t) { throw std::runtime_error("all"); });
                            }),
                   std::runtime_error);
    }
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

// What the two CPU backends share: host memory, worker threads, and the clock.
#pragma once

#include "host/backend/backend.hpp"
#include "host/backend/worker_pool.hpp"
#include "kernels/philox.hpp"

namespace sfnn {

class HostBackend : public Backend {
 public:
  explicit HostBackend(int threads) : pool_(threads) {}

  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data) noexcept override;
  void upload(std::span<const std::byte> from, std::byte* to) override;
  void download(const std::byte* from, std::span<std::byte> to) override;
  const std::byte* stage(std::span<const std::byte> from, Buffer& copy) override;
  // A data set in memory is read where it is; one in a file comes by windows.
  std::unique_ptr<RowFeed> make_feed(const HostRows&, std::int64_t height) override;
  std::size_t staged_bytes(const HostRows&, std::int64_t height) const override;
  std::size_t free_memory() const override;  // what the system could give without swapping
  void synchronize() override {}
  bool is_host_memory() const override { return true; }

  int lanes() const override { return pool_.size(); }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override {
    pool_.run(items, fn);
  }
  std::vector<std::int64_t> work_done() const { return pool_.work_done(); }
  void set_clock(const Clock& clock) override { clock_ = clock; }

 protected:
  // Small work in a fixed order: the same on every CPU path.
  void run(const FillZeroArgs&) override;
  void run(const ShuffleArgs&) override;
  RowSet run(const SelectRowsArgs&) override;
  void run(const AccumulateMetricsArgs&) override;
  void run(const JoinTargetArgs&) override;
  void run(const ProposalWeightsArgs&) override;
  void run(const MakeBetaArgs&) override;
  void run(const GradientNormArgs&) override;
  void run(const BaselineUpdateArgs&) override;

  DrawKey key(const Draw& draw) const { return {draw.seed, clock_.step, draw.site}; }
  const Clock& clock() const { return clock_; }

 private:
  WorkerPool pool_;
  Clock clock_;
};

}  // namespace sfnn

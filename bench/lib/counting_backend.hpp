// A backend that computes nothing: it writes down what the CUDA backend would launch for each op,
// with the bytes and the arithmetic that the launch cannot do without. Drive a Trainer with it and
// the list is a real step's. It needs neither the CUDA toolkit nor a GPU.
//
// Bytes: each operand once, as if caches kept what a launch reads twice. Operations of kernels are
// estimates (see the .cpp); those of products are exact, two for each multiply-add.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/backend/backend.hpp"
#include "host/backend/math_mode.hpp"
#include "kernels/grid.hpp"

namespace sfnn::bench {

using Math = MathMode;
enum class Unit { fp32, tf32, bf16 };  // whose peak rate bounds a launch

// A product as the backend was asked for it: out [m, n], k terms each.
struct Product {
  ProductRole role = ProductRole::decides_draws;
  bool bits = false;  // the first operand is 0/1
  std::int64_t m = 0, n = 0, k = 0;
};

// How a kernel deals out its work: see forecast(). A trip is a load that the next one waits for,
// with the arithmetic in between; loads that are under way together are one trip.
struct Spread {
  double warps = 1;  // that have something to do
  double trips = 1;  // of each of them, one after another
  int warps_per_block = kWarpsPerBlock;
};

struct Launch {
  std::string name;
  double bytes = 0, operations = 0;
  Unit unit = Unit::fp32;
  std::optional<Product> product;  // shape of a GEMM
  Spread spread = {};              // of a kernel
};

// Does nothing for every op of a list.
template <class Base, class List>
class IdleOps;

template <class Base>
class IdleOps<Base, OpList<>> : public Base {};

template <class Base, class First, class... Rest>
class IdleOps<Base, OpList<First, Rest...>> : public IdleOps<Base, OpList<Rest...>> {
 protected:
  using IdleOps<Base, OpList<Rest...>>::run;
  OpResult<First> run(const First&) override { return OpResult<First>(); }
};

class CountingBackend final : public IdleOps<Backend, AllOps>, private OpObserver {
 public:
  // keep: the share of a tile's particles that compaction leaves; 1: compaction is off.
  explicit CountingBackend(Math math = Math::fp32, double keep = 1) : math_(math), keep_(keep) {
    set_observer(this);
  }

  const std::vector<Launch>& launches() const { return launches_; }
  void clear() { launches_.clear(); }

  std::string name() const override { return "counting"; }
  std::string describe() const override { return "counting (computes nothing)"; }

  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data) noexcept override;
  void upload(std::span<const std::byte>, std::byte*) override {}
  void download(const std::byte* from, std::span<std::byte> to) override;  // zeros
  const std::byte* stage(std::span<const std::byte> from, Buffer&) override { return from.data(); }
  std::size_t free_memory() const override { return std::size_t(-1); }
  std::size_t bits_bytes(std::int64_t rows, std::int64_t cols) const override;
  void synchronize() override {}

  Tiling choose_tiling(const StepShape&) const override;
  int lanes() const override { return 1; }
  void for_each(std::int64_t items, FunctionRef<void(std::int64_t, int)> fn) override;
  void set_clock(const Clock&) override;

 protected:
  void do_upload_bits(std::span<const std::uint8_t>, Bits) override {}
  void do_download_bits(ConstBits from, std::span<std::uint8_t> to) override;  // zeros
  using IdleOps::run;
  RowSet run(const SelectRowsArgs&) override;  // the first rows, as many as `keep` says

 private:
  double unit_bytes() const { return math_ == Math::bf16x3 ? 2 : 4; }
  void begin(const OpCall&) override;  // an op has been called: writes down its launches
  void end() override {}

  Math math_;
  double keep_;
  std::vector<Launch> launches_;
};

}  // namespace sfnn::bench

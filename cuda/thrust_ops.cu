// Compiled by nvcc for the device; a host compiler makes the same algorithms run on Thrust's host
// system.
#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/tabulate.h>

#include "cuda/thrust_ops.hpp"

namespace sfnn {
namespace {

#ifdef __CUDACC__
struct PoolAllocator {
  using value_type = char;
  TemporaryPool* pool;

  char* allocate(std::ptrdiff_t bytes) {
    return reinterpret_cast<char*>(pool->take(std::size_t(bytes)));
  }
  void deallocate(char* data, std::size_t) { pool->give_back(reinterpret_cast<std::byte*>(data)); }
};
#endif

// Runs on our stream, with our temporaries, and waits only if the algorithm itself has to.
template <class Algorithm>
auto run(TemporaryPool& pool, cudaStream_t stream, const Algorithm& algorithm) {
#ifdef __CUDACC__
  PoolAllocator allocator{&pool};
  return algorithm(thrust::cuda::par_nosync(allocator).on(stream));
#else
  static_cast<void>(pool);
  static_cast<void>(cudaStreamSynchronize(stream));  // the host system has no streams
  return algorithm(thrust::device);
#endif
}

struct IsLive {
  float threshold;
  SFNN_HD bool operator()(float w_bar) const { return w_bar >= threshold; }
};

struct KeyOfExample {
  DrawKey key;
  SFNN_HD std::uint64_t operator()(std::int64_t i) const {
    return shuffle_key(key, std::uint32_t(i));
  }
};

}  // namespace

std::int64_t select_rows(const float* w_bar, std::int64_t rows, float threshold,
                         std::int32_t* index, TemporaryPool& pool, cudaStream_t stream) {
  const thrust::counting_iterator<std::int32_t> first(0);
  return run(pool, stream, [&](const auto& policy) {
    return thrust::copy_if(policy, first, first + rows, w_bar, index, IsLive{threshold}) - index;
  });
}

void shuffle(const DrawKey& key, std::int64_t count, std::uint64_t* keys, std::int32_t* order,
             TemporaryPool& pool, cudaStream_t stream) {
  run(pool, stream, [&](const auto& policy) {
    thrust::tabulate(policy, keys, keys + count, KeyOfExample{key});
    thrust::sequence(policy, order, order + count);
    thrust::stable_sort_by_key(policy, keys, keys + count, order);
  });
}

}  // namespace sfnn

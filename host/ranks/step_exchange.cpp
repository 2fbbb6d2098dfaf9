#include "host/ranks/step_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/base/error.hpp"

namespace sfnn {
namespace {

// What precedes the numbers of a message.
struct Header {
  std::int64_t step, wants_stop;
};
constexpr std::int64_t kHeaderFloats = sizeof(Header) / sizeof(float);

constexpr std::int64_t kPiece = 256;          // floats that are added at a time
constexpr std::int64_t kRange = 64 * kPiece;  // and by one thread

// Slices begin at cache lines.
IndexRange slice_of(int rank, int ranks, std::int64_t stride) {
  constexpr std::int64_t kLine = 16;
  const auto begin = [&](int r) {
    return r == ranks ? stride : stride * r / ranks / kLine * kLine;
  };
  return {begin(rank), begin(rank + 1)};
}

std::int64_t nodes_of(const StepShares& shares, int rank) {
  std::int64_t nodes = 0;
  for_each_node(shares, rank, [&](const IndexRange&) { ++nodes; });
  return nodes;
}

std::int64_t message_floats(const StepShares& shares, int from, int to, std::int64_t stride) {
  return kHeaderFloats + nodes_of(shares, from) * slice_of(to, shares.ranks, stride).size() +
         2 * shares.rows_of(from).size();
}

// The sum, by the tree over all parts, of those that have a leaf; a tree without leaves adds
// nothing. leaf(i): the numbers of part i, or null.
template <class Leaf>
void sum_leaves(const StepShares& shares, const Leaf& leaf, std::int64_t count, float* out) {
  float waiting[kMaxTreeHeight + 1][kPiece];
  bool has[kMaxTreeHeight + 1];
  walk_tree(
      shares.parts(), shares.places,
      [&](std::int64_t i, int slot) {
        const float* values = leaf(i);
        has[slot] = values != nullptr;
        if (values) std::copy_n(values, count, waiting[slot]);
      },
      [&](int slot) {
        if (!has[slot + 1]) return;
        if (!has[slot]) {
          std::copy_n(waiting[slot + 1], count, waiting[slot]);
          has[slot] = true;
          return;
        }
        for (std::int64_t e = 0; e < count; ++e) waiting[slot][e] += waiting[slot + 1][e];
      });
  std::copy_n(waiting[0], count, out);
}

std::span<const std::byte> bytes_of(const float* data, std::int64_t floats) {
  return std::as_bytes(std::span(data, std::size_t(floats)));
}
std::span<std::byte> bytes_of(float* data, std::int64_t floats) {
  return std::as_writable_bytes(std::span(data, std::size_t(floats)));
}

}  // namespace

StepExchange::StepExchange(Backend& backend, Ranks& ranks, const StepShares& shares,
                           std::int64_t stride)
    : backend_(backend), ranks_(ranks), whole_(shares), stride_(stride) {
  if (ranks.count() == 1) return;
  sums_ = Buffer(backend, bytes(shares, stride));
  const int own = ranks.rank(), count = ranks.count();
  // A smaller batch may give a rank more nodes, never more than it has places, nor more rows.
  const std::int64_t nodes =
      std::min<std::int64_t>(shares.places_of(own).size(), 2 * kMaxTreeHeight);
  outgoing_.resize(std::size_t(count * (kHeaderFloats + 2 * shares.N) + nodes * stride));
  std::int64_t all_nodes = 0;
  for (int r = 0; r < count; ++r)
    all_nodes += std::min<std::int64_t>(shares.places_of(r).size(), 2 * kMaxTreeHeight);
  incoming_.resize(std::size_t(count * kHeaderFloats + 2 * shares.N +
                               all_nodes * slice_of(own, count, stride).size()));
  outgoing_of_.resize(count);
  incoming_of_.resize(count);
  sent_.resize(count);
  received_.resize(count);
  leaves_.resize(std::size_t(shares.parts()));
  if (backend.is_host_memory()) return;
  staged_parts_.resize(std::size_t(shares.most_parts_of(own) * stride));
  staged_rows_.resize(std::size_t(2 * shares.N));
  staged_sums_.resize(std::size_t(stride));
}

std::size_t StepExchange::bytes_sent(const StepShares& shares, int rank, std::int64_t stride) {
  std::int64_t floats = 0;
  for (int q = 0; q < shares.ranks; ++q)
    if (q != rank)
      floats +=
          message_floats(shares, rank, q, stride) + slice_of(rank, shares.ranks, stride).size();
  return sizeof(float) * std::size_t(floats);
}

StepShares StepExchange::shares_of(std::int64_t N) const {
  StepShares shares = whole_;
  shares.N = N;
  return shares;
}

void StepExchange::lay_out(const StepShares& shares) {
  const int own = ranks_.rank();
  float *out = outgoing_.data(), *in = incoming_.data();
  for (int q = 0; q < ranks_.count(); ++q) {
    const std::int64_t to = message_floats(shares, own, q, stride_);
    const std::int64_t from = message_floats(shares, q, own, stride_);
    sent_[q] = bytes_of(static_cast<const float*>(out), to);
    received_[q] = bytes_of(in, from);
    outgoing_of_[q] = out;
    incoming_of_[q] = q == own ? out : in;
    out += to;
    in += from;
  }
}

// f(piece) for pieces of the range, by all threads.
void StepExchange::for_pieces(const IndexRange& floats, FunctionRef<void(const IndexRange&)> add) {
  const std::int64_t ranges = (floats.size() + kRange - 1) / kRange;
  backend_.for_each(ranges, [&](std::int64_t range, int) {
    const std::int64_t begin = floats.begin + range * kRange;
    const std::int64_t end = std::min(floats.end, begin + kRange);
    for (std::int64_t at = begin; at < end; at += kPiece) add({at, std::min(end, at + kPiece)});
  });
}

// The sums of this rank's subtrees, cut into slices, each into its owner's message.
void StepExchange::add_nodes(const StepShares& shares, const float* parts) {
  const std::int64_t first = shares.parts_of(ranks_.rank()).begin;
  for (int q = 0; q < ranks_.count(); ++q) {
    const IndexRange slice = slice_of(q, ranks_.count(), stride_);
    float* to = outgoing_of_[q] + kHeaderFloats;
    for_each_node(shares, ranks_.rank(), [&](const IndexRange& node) {
      for_pieces(slice, [&](const IndexRange& piece) {
        const auto leaf = [&](std::int64_t i) {
          return i < node.begin || i >= node.end ? nullptr
                                                 : parts + (i - first) * stride_ + piece.begin;
        };
        sum_leaves(shares, leaf, piece.size(), to + (piece.begin - slice.begin));
      });
      to += slice.size();
    });
  }
}

void StepExchange::set_rows(const StepShares& shares, const Step& step, const float* C_hat,
                            const float* ess) {
  const IndexRange rows = shares.rows_of(ranks_.rank());
  const Header header{step.number, step.wants_stop};
  for (int q = 0; q < ranks_.count(); ++q) {
    std::memcpy(outgoing_of_[q], &header, sizeof header);
    float* end = outgoing_of_[q] + sent_[q].size() / sizeof(float);
    std::copy_n(C_hat + rows.begin, rows.size(), end - 2 * rows.size());
    std::copy_n(ess + rows.begin, rows.size(), end - rows.size());
  }
}

bool StepExchange::read_messages(const StepShares& shares, const Step& step, float* C_hat,
                                 float* ess) {
  bool any_wants_stop = false;
  for (int q = 0; q < ranks_.count(); ++q) {
    Header header;
    std::memcpy(&header, incoming_of_[q], sizeof header);
    if (header.step != step.number) {
      throw Error(fmt::format("rank {} is at step {} and rank {} at step {}", q, header.step,
                              ranks_.rank(), step.number));
    }
    any_wants_stop |= header.wants_stop != 0;
    const IndexRange rows = shares.rows_of(q);
    const float* end = incoming_of_[q] + message_floats(shares, q, ranks_.rank(), stride_);
    std::copy_n(end - 2 * rows.size(), rows.size(), C_hat + rows.begin);
    std::copy_n(end - rows.size(), rows.size(), ess + rows.begin);
  }
  return any_wants_stop;
}

// The slice that this rank owns, by the tree over the nodes of all ranks.
void StepExchange::add_slice(const StepShares& shares, float* sums) {
  const IndexRange slice = slice_of(ranks_.rank(), ranks_.count(), stride_);
  std::ranges::fill(leaves_, nullptr);
  for (int q = 0; q < ranks_.count(); ++q) {
    const float* from = incoming_of_[q] + kHeaderFloats;
    for_each_node(shares, q, [&](const IndexRange& node) {
      leaves_[std::size_t(node.begin)] = from;
      from += slice.size();
    });
  }
  for_pieces(slice, [&](const IndexRange& piece) {
    const auto leaf = [&](std::int64_t i) {
      const float* begin = leaves_[std::size_t(i)];
      return begin ? begin + (piece.begin - slice.begin) : nullptr;
    };
    sum_leaves(shares, leaf, piece.size(), sums + piece.begin);
  });
}

void StepExchange::gather_slices(float* sums) {
  const IndexRange own = slice_of(ranks_.rank(), ranks_.count(), stride_);
  for (int q = 0; q < ranks_.count(); ++q) {
    const IndexRange slice = slice_of(q, ranks_.count(), stride_);
    sent_[q] = bytes_of(static_cast<const float*>(sums + own.begin), own.size());
    received_[q] = bytes_of(sums + slice.begin, slice.size());
  }
  ranks_.exchange(sent_, received_);
}

bool StepExchange::run(const Step& step) {
  const StepShares shares = shares_of(step.N);
  const bool on_host = backend_.is_host_memory();
  float *C_hat = step.C_hat, *ess = step.ess, *sums = sums_.floats();
  const float* parts = step.parts;
  if (!on_host) {
    C_hat = staged_rows_.data();
    ess = C_hat + step.N;
    sums = staged_sums_.data();
    parts = staged_parts_.data();
    const auto rows = std::size_t(step.N);
    download(backend_, step.C_hat, {C_hat, rows});
    download(backend_, step.ess, {ess, rows});
    download(backend_, step.parts,
             {staged_parts_.data(), std::size_t(shares.parts_of(ranks_.rank()).size() * stride_)});
  }
  lay_out(shares);
  add_nodes(shares, parts);
  set_rows(shares, step, C_hat, ess);
  ranks_.exchange(sent_, received_);
  const bool any_wants_stop = read_messages(shares, step, C_hat, ess);
  add_slice(shares, sums);
  gather_slices(sums);
  if (!on_host) {
    const auto upload = [&](const float* from, std::int64_t count, float* to) {
      backend_.upload(bytes_of(from, count), reinterpret_cast<std::byte*>(to));
    };
    upload(C_hat, step.N, step.C_hat);
    upload(ess, step.N, step.ess);
    upload(sums, stride_, sums_.floats());
  }
  return any_wants_stop;
}

}  // namespace sfnn

// A file made to fill the memory takes no more of it than its loader's header promises. The fuzz
// targets demand the same of small files; here are large ones, each built to take the most.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/formats/byte_reader.hpp"
#include "host/formats/data_formats.hpp"
#include "host/formats/idx.hpp"
#include "host/formats/npy.hpp"
#include "host/formats/safetensors.hpp"
#include "host/run/checkpoint.hpp"
#include "host/run/metrics.hpp"
#include "host/run/records.hpp"
#include "tests/support/idx_files.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace sfnn::test {
namespace {

constexpr std::size_t kKiB = 1 << 10, kMiB = 1 << 20;

enum class End { loaded, refused };

void expect_within(std::size_t bound, End expected, const std::function<void()>& load) {
  End end = End::loaded;
  const std::size_t peak = peak_memory([&] {
    try {
      load();
    } catch (const Error&) {
      end = End::refused;
    }
  });
  EXPECT_LE(peak, bound);
  EXPECT_EQ(end, expected);
}

TEST(LoaderMemory, ThePeakIsWhatWasHeldAtOnce) {
  const std::size_t peak = peak_memory([] {
    for (int i = 0; i < 3; ++i) {
      std::vector<char> held(kMiB);
      static_cast<volatile char*>(held.data())[i] = 1;  // used, so that it is not optimised away
    }
  });
  EXPECT_GE(peak, kMiB);
  EXPECT_LT(peak, 2 * kMiB);
}

// --- IDX and gzip

void expect_idx(std::size_t bound, End expected, const Bytes& file) {
  std::istringstream in(file);
  expect_within(bound, expected, [&] { parse_idx(in, "some.idx", kAnyRank); });
}

TEST(LoaderMemory, AnIdxHeaderAloneTakesNothing) {
  expect_idx(kMiB, End::refused, idx_header({0x7fffffff, 0x7fffffff}));
  expect_idx(kMiB, End::refused, idx_header(std::vector<std::uint32_t>(255, 0x7fffffff)));
  expect_idx(kMiB, End::refused, gzip(idx_header({0x7fffffff})));
}

TEST(LoaderMemory, IdxValuesAreHeldTwiceAtMost) {
  const std::uint32_t size = 33 * kMiB;  // growing by doubling ends just above a power of two
  const Bytes file = idx_header({size}) + Bytes(size, 'x');
  expect_idx(2 * size + kMiB, End::loaded, file);
  expect_idx(2 * size + kMiB, End::loaded, gzip(file));
}

TEST(LoaderMemory, IdxFloatsTakeTheirOwnSizeBeside) {
  const std::uint32_t count = kMiB;
  std::istringstream in(idx_header({count}, 0x0E) + Bytes(8 * count, 0));
  const IdxArray array = parse_idx(in, "some.idx", 1);
  expect_within(8 * count + kKiB, End::loaded, [&] { doubles(array); });
}

TEST(LoaderMemory, AGzipBombIsUnpackedNoFurtherThanItsHeaderPromises) {
  expect_idx(kMiB, End::refused, gzip(idx_header({6}) + Bytes(64 * kMiB, 'x')));
}

// --- .npy

TEST(LoaderMemory, NpyTakesItsOwnSize) {
  std::string file = serialize_npy({{8, kMiB}, std::vector<float>(8 * kMiB)});
  const auto load = [&] { parse_npy(std::as_bytes(std::span(file)), "some.npy"); };
  expect_within(file.size() + 256 * kKiB, End::loaded, load);
  file.replace(file.find("(8, "), 4, "(9, ");
  expect_within(256 * kKiB, End::refused, load);
}

TEST(LoaderMemory, AnNpyHeaderOfWordsTakesLittle) {
  std::string file = "\x93NUMPY\x01";
  file += {'\0', '\xff', '\xff'};
  file += "{'" + std::string(0xffff - 2, 'x');
  expect_within(256 * kKiB, End::refused,
                [&] { parse_npy(std::as_bytes(std::span(file)), "some.npy"); });
}

// --- every data format

// A file made to take much, and what opening it may take at most, by the header of its parser.
struct Hostile {
  std::string_view format;
  std::string name;
  Bytes file;
  std::size_t bound;
  End expected;
};

template <class T>
Bytes little_endian(T value) {
  Bytes bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(char(value >> 8 * i));
  return bytes;
}

// An archive of one array, a.npy, not packed.
Bytes stored_npz(const Bytes& npy) {
  const Bytes name = "a.npy", sizes = little_endian(std::uint32_t(npy.size()));
  const Bytes about =
      Bytes(4, 0) + Bytes(4, 0) + Bytes(4, 0) + sizes + sizes + Bytes("\5\0\0\0", 4);
  const Bytes local = "PK\3\4" + Bytes(2, 0) + about + name;
  const Bytes central = "PK\1\2" + Bytes(4, 0) + about + Bytes(14, 0) + name;
  return local + npy + central + "PK\5\6" + Bytes("\0\0\0\0\1\0\1\0", 8) +
         little_endian(std::uint32_t(central.size())) +
         little_endian(std::uint32_t(local.size() + npy.size())) + Bytes(2, 0);
}

// The beginning of a grey picture, and nothing of it.
Bytes png_header(std::uint32_t width, std::uint32_t height) {
  const Bytes size = idx_header({width, height}).substr(4);  // big-endian, as there
  Bytes chunk = "IHDR" + size + Bytes("\x08\0\0\0\0", 5);
  const auto crc =
      std::uint32_t(crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), uInt(chunk.size())));
  return "\x89PNG\r\n\x1a\n" + Bytes("\0\0\0\x0d", 4) + chunk + idx_header({crc}).substr(4);
}

std::vector<Hostile> hostile_files() {
  const Bytes npy = serialize_npy({{8, kMiB}, std::vector<float>(8 * kMiB)});
  Bytes lying = npy;
  lying.replace(lying.find("(8, "), 4, "(9, ");
  const std::uint32_t size = 33 * kMiB;
  const Bytes idx = idx_header({size}) + Bytes(size, 'x');
  Bytes csv = "a,b\n";
  while (csv.size() < kMiB) csv += "1,2\n";
  return {{"npy", "large.npy", npy, 256 * kKiB, End::loaded},
          {"npy", "lying.npy", lying, 256 * kKiB, End::refused},
          {"idx", "large.idx", idx, kMiB, End::loaded},
          {"idx", "lying.idx", idx_header({0x7fffffff, 0x7fffffff}), kMiB, End::refused},
          {"idx", "packed.gz", gzip(idx), 2 * size + kMiB, End::loaded},
          {"npz", "large.npz", stored_npz(npy), 2 * kMiB, End::loaded},
          {"npz", "lying.npz", stored_npz(npy).substr(kMiB), 2 * kMiB, End::refused},
          {"csv", "large.csv", csv, 16 * csv.size() + kMiB, End::loaded},
          {"csv", "line.csv", Bytes(4 * kMiB, '1'), 65 * kMiB, End::refused},
          {"png", "lying.png", png_header(30000, 2000), 4 * kMiB, End::refused},
          {"png", "huge.png", png_header(1 << 30, 1 << 30), 4 * kMiB, End::refused}};
}

TEST(LoaderMemory, EachDataFormatKeepsItsBound) {
  const TempFolder folder;
  const std::vector<Hostile> files = hostile_files();
  for (const DataFormat& format : data_formats()) {
    EXPECT_TRUE(
        std::ranges::any_of(files, [&](const Hostile& file) { return file.format == format.name; }))
        << "no file tries the memory of " << format.name;
  }
  for (const Hostile& file : files) {
    SCOPED_TRACE(file.name);
    const auto path = folder.write(file.name, file.file);
    expect_within(file.bound, file.expected, [&] { open_array(path); });
  }
}

// --- safetensors

// Headers of 1 MiB from one piece repeated, {} in it standing for a number that makes it unique.
void expect_safetensors(End expected, const std::string& begin, const std::string& piece,
                        const std::string& end) {
  constexpr std::size_t kHeader = kMiB;
  std::string header = begin;
  for (std::uint32_t n = 0; header.size() + piece.size() + end.size() + 16 < kHeader; ++n)
    header.append(n ? "," : "").append(fmt::format(fmt::runtime(piece), fmt::format("{:x}", n)));
  header += end;
  header.resize(kHeader, ' ');
  const std::uint64_t length = header.size();
  const std::string file = std::string(reinterpret_cast<const char*>(&length), 8) + header;
  SCOPED_TRACE(piece);
  expect_within(file.size() + 64 * kHeader, expected,
                [&] { parse_safetensors(std::as_bytes(std::span(file)), "some.safetensors"); });
}

TEST(LoaderMemory, SafetensorsTakeSixtyFourTimesTheirHeader) {
  expect_safetensors(End::refused, "[", "0", "]");
  expect_safetensors(End::refused, "[", "[]", "]");
  expect_safetensors(End::refused, "{\"a\":[", "[]", "]}");
  expect_safetensors(End::refused, "{", "\"{}\":0", "}");
  expect_safetensors(End::refused, "{", "\"{}\":{{}}", "}");
  expect_safetensors(End::loaded, "{\"__metadata__\":{", "\"{}\":\"\"", "}}");
  expect_safetensors(End::loaded, "{",
                     "\"{}\":{{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", "}");
}

// Sparse, so that neither file takes room: one of zeros, and a sound one that has grown.
TEST(LoaderMemory, ASafetensorsFileLongerThanItSaysIsNotRead) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "some.safetensors";
  for (const std::string& start :
       {std::string(), serialize(TensorFile{{{"a", {2}, {1, 2}}}, {}})}) {
    write_file_atomically(path, start);
    std::filesystem::resize_file(path, std::uintmax_t(8) << 30);
    expect_within(kMiB, End::refused, [&] { read_safetensors(path); });
  }
}

TEST(LoaderMemory, TensorsAreWrittenFromWhereTheyLieAndReadToWhereTheyStay) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "some.safetensors";
  const TensorFile file{
      {{"a", {kMiB}, std::vector<float>(kMiB, 1)}, {"b", {kMiB}, std::vector<float>(kMiB, 2)}}, {}};
  expect_within(kMiB, End::loaded, [&] { write_safetensors(path, file); });
  expect_within(9 * kMiB, End::loaded, [&] { read_safetensors(path); });
}

// --- TOML, checkpoints, metrics

// 64 KiB of one piece repeated.
std::string filled(const std::string& piece) {
  std::string text;
  for (std::uint32_t n = 0; text.size() + piece.size() + 8 < 64 * kKiB; ++n)
    text += fmt::format(fmt::runtime(piece), fmt::format("{:x}", n));
  return text;
}

TEST(LoaderMemory, AConfigTakes512TimesItsText) {
  for (const std::string& text :
       {filled("a{}=0\n"), filled("a{}={{}}\n"), filled("[a{}]\n"),
        fmt::format("a=[{}]", filled("0,")), fmt::format("a=[{}]", filled("[],")),
        fmt::format("a=[{}]", filled("{{}},")), filled("a{}=''\n"),
        fmt::format("a{}=0\n", filled(".a").substr(0, 3998))}) {
    SCOPED_TRACE(text.substr(0, 20));
    expect_within(512 * text.size() + 64 * kKiB, End::refused,
                  [&] { from_toml(text, "some.toml"); });
  }
}

TEST(LoaderMemory, WhatACheckpointSaysOfItsRunTakes32MiB) {
  TensorFile file;
  file.metadata["sfnn.config"] = filled("[a{}]\n");
  for (const std::string& text :
       {fmt::format("[{}0]", filled("[],")), fmt::format("{{{}\"\":0}}", filled("\"{}\":0,")),
        std::string(65536, '[')}) {
    file.metadata["sfnn.checkpoint"] = text;
    expect_within(32 * kMiB, End::refused, [&] { from_tensor_file(file, "some.safetensors"); });
  }
  file.metadata["sfnn.checkpoint"] =
      R"({"version":1,"network":{"D_in":16777216,"hidden":["16777216s"],"D_out":16777216,)"
      R"("output":"bernoulli"},"state":{"epoch":0,"step":0,"seconds":0,"best_valid_nll":null,)"
      R"("best_epoch":0,"c_hat_sum":0,"effective_particles_sum":0},)"
      R"("tiling":{"tile":1,"parts":9223372036854775807}})";
  file.metadata["sfnn.config"] = "net.hidden = [\"16777216s\"]";
  expect_within(32 * kMiB, End::refused, [&] { from_tensor_file(file, "some.safetensors"); });
}

TEST(LoaderMemory, MetricsTake64TimesTheirText) {
  for (const std::string& text :
       {filled("{{}}\n"), filled("{{\"a\":[]}}\n"), fmt::format("{{\"a\":[{}0]}}\n", filled("[],")),
        fmt::format("{{{}\"\":0}}\n", filled("\"{}\":0,"))}) {
    SCOPED_TRACE(text.substr(0, 20));
    expect_within(64 * text.size(), End::loaded, [&] { parse_metrics(text, "some.jsonl"); });
  }
}

TEST(LoaderMemory, RecordsOfEpochsTake384TimesTheirText) {
  const std::string text = filled("{{}}\n");
  expect_within(384 * text.size(), End::loaded, [&] { parse_epochs(text, "some.jsonl"); });
}

}  // namespace
}  // namespace sfnn::test

#include "host/run/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "host/base/error.hpp"
#include "host/formats/atomic_file.hpp"
#include "host/model/initial_params.hpp"
#include "host/train/pass.hpp"
#include "host/train/proposal.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/tensor_files.hpp"

namespace sfnn {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Small, with every kind of slot, momentum, averages and a mean; numbers that decimal digits do not
// hit.
Checkpoint example() {
  Checkpoint checkpoint;
  apply_setting(checkpoint.config, "net.hidden=3s,2s+2tanh,2n+3relu");
  apply_setting(checkpoint.config, "train.estimator=G1");
  apply_setting(checkpoint.config, "train.learning_rate=0.30000000000000004");
  NetworkState& P = checkpoint.state.P();
  P.spec = {.D_in = 5,
            .hidden = checkpoint.config.net.hidden,
            .D_out = 4,
            .output = Output::gaussian_each};
  const ParamLayout layout(P.spec);
  P.arrays = {{"params", initial_params(P.spec, 1)},
              {"velocity", std::vector<float>(layout.size)},
              {"baseline", {}}};
  for (const ParamSlot& slot : layout.slots()) {
    for (std::int64_t i = 0; i < slot.size(); ++i)
      P.array("velocity")[slot.offset + i] = 1.0f / float(3 + slot.offset + i);
  }
  for (std::int64_t i = 0; i < PartLayout(P.spec, Estimator::G1).baseline_size; ++i)
    P.array("baseline").push_back(0.1f * float(i));
  checkpoint.units.x_mean = {0.1f, -0.0f, 1e-45f, 3e38f, 1};
  checkpoint.units.x_scale = {1, 2, 3, 4, 1e-30f};
  checkpoint.units.y_mean = {-1, 2, 3, 4};
  checkpoint.units.y_scale = {1, 2, 3, 1e30f};
  checkpoint.x_bytes = ByteEncoding::bits;
  checkpoint.y_bytes = ByteEncoding::grey;
  checkpoint.state.epoch = 3;
  checkpoint.state.step = 1801;
  checkpoint.state.seconds = 0.1 + 0.2;
  checkpoint.state.best_valid_nll = std::nextafter(56.7, 57);
  checkpoint.state.best_epoch = 2;
  checkpoint.state.c_hat_sum = -1.0 / 3;
  checkpoint.state.effective_particles_sum = 1e-300;
  checkpoint.state.c_hat_marks = {-1.0 / 7, -1e-300};
  checkpoint.tiling = {.tile = 10, .parts = 2};
  return checkpoint;
}

// Every array of a checkpoint.
using Array = std::vector<float>& (*)(Checkpoint&);
constexpr Array kArrays[] = {
    [](Checkpoint& c) -> std::vector<float>& { return c.state.P().array("params"); },
    [](Checkpoint& c) -> std::vector<float>& { return c.state.P().array("velocity"); },
    [](Checkpoint& c) -> std::vector<float>& { return c.state.P().array("baseline"); },
    [](Checkpoint& c) -> std::vector<float>& { return c.units.x_mean; },
    [](Checkpoint& c) -> std::vector<float>& { return c.units.x_scale; },
    [](Checkpoint& c) -> std::vector<float>& { return c.units.y_mean; },
    [](Checkpoint& c) -> std::vector<float>& { return c.units.y_scale; }};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_TRUE(same_bits(a.params(), b.params()));
  EXPECT_TRUE(same_bits(a.units.x_mean, b.units.x_mean));
  EXPECT_EQ(a.units, b.units);
  EXPECT_EQ(a.x_bytes, b.x_bytes);
  EXPECT_EQ(a.y_bytes, b.y_bytes);
  EXPECT_EQ(a.state, b.state);
  EXPECT_THAT(differences(a.config, b.config), IsEmpty());
  EXPECT_EQ(a.tiling.tile, b.tiling.tile);
  EXPECT_EQ(a.tiling.parts, b.tiling.parts);
}

std::string error_of(const TensorFile& file) {
  try {
    from_tensor_file(file, "some.safetensors");
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), StartsWith("some.safetensors: not a sound checkpoint: "));
    return e.what();
  }
  return "no error";
}

// The example with one value of its JSON changed.
std::string error_with(const std::string& pointer, const nlohmann::ordered_json& value) {
  TensorFile file = to_tensor_file(example());
  auto json = nlohmann::ordered_json::parse(file.metadata["sfnn.checkpoint"]);
  json[nlohmann::ordered_json::json_pointer(pointer)] = value;
  file.metadata["sfnn.checkpoint"] = json.dump();
  return error_of(file);
}

NamedTensor& tensor(TensorFile& file, std::string_view name) {
  return const_cast<NamedTensor&>(*file.find(name));
}

TEST(Checkpoint, RoundTripKeepsEveryBit) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "step-1801.safetensors";
  save_checkpoint(path, example());
  expect_same(load_checkpoint(path), example());
}

TEST(Checkpoint, OptionalPartsMayBeAbsent) {
  Checkpoint checkpoint = example();
  apply_setting(checkpoint.config, "train.estimator=G3");
  checkpoint.state.P().arrays.pop_back();  // the baseline
  checkpoint.units = {};
  checkpoint.state.best_valid_nll.reset();
  expect_same(from_tensor_file(to_tensor_file(checkpoint), ""), checkpoint);
}

TEST(Checkpoint, AScaleThatCannotBeDividedByIsRefused) {
  for (const char* name : {"x_scale", "y_scale"}) {
    for (const float scale : {0.0f, -1.0f, 1e-44f}) {
      TensorFile file = to_tensor_file(example());
      tensor(file, name).values[1] = scale;
      EXPECT_THAT(error_of(file), HasSubstr("a scale of its inputs or targets is not above 0"));
    }
  }
}

TEST(Checkpoint, HoldsNetworksByName) {
  Checkpoint checkpoint = example();
  apply_setting(checkpoint.config, "proposal.on=true");
  apply_setting(checkpoint.config, "proposal.hidden=4d");
  checkpoint.state.P().arrays.pop_back();  // the baseline: there is no estimator
  NetworkState& R = checkpoint.state.networks[kModelR];
  R.spec = proposal_network(checkpoint.network(), checkpoint.config.train.proposal.hidden);
  R.arrays = {{"params", initial_params(R.spec, 2)}, {"velocity", initial_params(R.spec, 3)}};
  const TensorFile file = to_tensor_file(checkpoint);
  EXPECT_NE(file.find("R:layer1.W_d"), nullptr);
  EXPECT_NE(file.find("R:velocity/V"), nullptr);
  expect_same(from_tensor_file(file, ""), checkpoint);
}

TEST(Checkpoint, ANetworkWithoutTensorsOrWithAnOddNameIsRefused) {
  const nlohmann::ordered_json network = {
      {"D_in", 1}, {"hidden", {"2s"}}, {"D_out", 1}, {"output", "bernoulli"}};
  EXPECT_THAT(error_with("/other_networks", {{"Q", network}}),
              HasSubstr("'Q:layer1.W_s' is missing"));
  EXPECT_THAT(error_with("/other_networks", {{"R", network}}),
              HasSubstr("its R is not the one of its config and network"));
  for (const char* name : {"", "P", "a/b", "a:b", "../R"})
    EXPECT_THAT(error_with("/other_networks", {{name, network}}),
                HasSubstr("the name of a network is not valid"));
}

TEST(Checkpoint, KeysOfAnOlderStateArePassedOver) {
  EXPECT_EQ(error_with("/state/examples", 100), "no error");
}

TEST(Checkpoint, InputOfWidthZeroAndNoHiddenLayers) {
  Checkpoint checkpoint;
  checkpoint.tiling = {.tile = 1, .parts = 1};
  for (const auto* hidden : {"3s", ""}) {
    checkpoint.config.net.hidden.clear();
    if (*hidden) checkpoint.config.net.hidden = {parse_layer(hidden)};
    NetworkState& P = checkpoint.state.P();
    P.spec = {
        .D_in = 0, .hidden = checkpoint.config.net.hidden, .D_out = 4, .output = Output::bernoulli};
    P.arrays = {{"params", initial_params(P.spec, 1)}, {"velocity", initial_params(P.spec, 2)}};
    expect_same(from_tensor_file(to_tensor_file(checkpoint), ""), checkpoint);
  }
}

TEST(Checkpoint, PythonFindsWeightsByTheirNames) {
  const TensorFile file = to_tensor_file(example());
  EXPECT_EQ(file.find("layer1.W_s")->shape, (std::vector<std::int64_t>{5, 3}));
  EXPECT_EQ(file.find("layer1.b_s")->shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(file.find("velocity/layer3.U")->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.find("layer3.W_s"), nullptr);
  EXPECT_NE(file.find("V"), nullptr);
}

TEST(Checkpoint, DamageAnywhereInTheFileIsRecognised) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "c.safetensors";
  save_checkpoint(path, example());
  const std::string good = read_file(path, 1 << 20);
  for (std::size_t i = 0; i < good.size(); i += 5) {
    std::string bad = good;
    bad[i] = char(bad[i] ^ 0x10);
    EXPECT_THROW(parse_safetensors(std::as_bytes(std::span(bad)), "c", Checksums::required),
                 DataError)
        << i;
  }
  for (const std::size_t size :
       {std::size_t(0), std::size_t(7), good.size() / 2, good.size() - 1}) {
    write_file_atomically(path, good.substr(0, size));
    EXPECT_THROW(load_checkpoint(path), DataError) << size;
  }
  EXPECT_THROW(load_checkpoint(directory.path() / "none"), DataError);
}

TEST(Checkpoint, NumbersThatAreNotFiniteAreNeitherSavedNorLoaded) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& array : kArrays) {
    Checkpoint checkpoint = example();
    array(checkpoint)[1] = kNan;
    EXPECT_THROW(to_tensor_file(checkpoint), Error);
  }
  Checkpoint checkpoint = example();
  checkpoint.state.c_hat_sum = -std::numeric_limits<double>::infinity();
  EXPECT_THROW(to_tensor_file(checkpoint), Error);
  TensorFile file = to_tensor_file(example());
  tensor(file, "V").values[0] = kNan;
  EXPECT_THAT(error_of(file), HasSubstr("tensor 'V' holds a number that is not finite"));
}

TEST(Checkpoint, ArraysThatDoNotFitAreNotSaved) {
  for (const auto& array : kArrays) {
    Checkpoint checkpoint = example();
    array(checkpoint).push_back(0);
    EXPECT_THROW(to_tensor_file(checkpoint), ShapeError);
  }
}

TEST(Checkpoint, TensorsMustBeThoseOfTheNetwork) {
  for (const auto* name : {"layer1.W_s", "c", "velocity/V", "baseline"}) {
    TensorFile file = to_tensor_file(example());
    std::erase_if(file.tensors, [&](const NamedTensor& t) { return t.name == name; });
    EXPECT_THAT(error_of(file), HasSubstr("tensor '" + std::string(name) + "' is missing"));
  }
  TensorFile file = to_tensor_file(example());
  tensor(file, "layer1.W_s").shape = {3, 5};
  EXPECT_THAT(error_of(file),
              HasSubstr("'layer1.W_s' has shape [3, 5], and the network needs [5, 3]"));
  file = to_tensor_file(example());
  file.tensors.push_back({"extra", {1}, {1}});
  EXPECT_THAT(error_of(file), HasSubstr("do not belong"));
}

std::vector<std::string> listing(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    names.push_back(entry.path().string());
  return names;
}

TEST(Checkpoint, TensorNamesAreNeverPaths) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "run");
  const auto path = directory.path() / "run" / "c.safetensors";
  for (const std::string& name :
       {std::string("../outside"), (directory.path() / "outside").string(), std::string("..")}) {
    TensorFile file = to_tensor_file(example());
    file.tensors.push_back({name, {1}, {1}});
    write_safetensors(path, file);
    const auto before = listing(directory.path());
    EXPECT_EQ(read_safetensors(path).find(name)->values, std::vector<float>{1});
    EXPECT_THROW(load_checkpoint(path), DataError);
    EXPECT_EQ(listing(directory.path()), before);
  }
}

TEST(Checkpoint, MetadataIsNotTrusted) {
  EXPECT_EQ(error_with("/version", 1), "no error");
  EXPECT_EQ(error_with("/version", 2), "no error");
  EXPECT_THAT(error_with("/version", 4), HasSubstr("version 4 is not known"));
  EXPECT_THAT(error_with("/state/step", -1), HasSubstr("step is not a count"));
  EXPECT_THAT(error_with("/state/step", 1u << 30), HasSubstr("step is out of range"));
  EXPECT_THAT(error_with("/state/epoch", 1.5), HasSubstr("epoch is not a count"));
  EXPECT_THAT(error_with("/state/epoch", 18446744073709551615u), HasSubstr("epoch is not a count"));
  EXPECT_EQ(error_with("/state/epoch", 20), "no error");  // as many as the run has
  EXPECT_THAT(error_with("/state/epoch", 21), HasSubstr("epoch is out of range"));
  EXPECT_THAT(error_with("/state/epoch", INT64_MAX), HasSubstr("epoch is out of range"));
  EXPECT_THAT(error_with("/state/step", 2), HasSubstr("epoch is out of range"));
  EXPECT_THAT(error_with("/state/seconds", "long"), HasSubstr("seconds is not a number"));
  EXPECT_THAT(error_with("/state", nullptr), HasSubstr("cannot be read"));
  EXPECT_THAT(error_with("/tiling/tile", 0), HasSubstr("tiling is empty"));
  EXPECT_THAT(error_with("/tiling/tile", 101), HasSubstr("more examples than a step has"));
  EXPECT_THAT(error_with("/tiling/parts", INT64_MAX), HasSubstr("parts are not a power of two"));
  EXPECT_THAT(error_with("/tiling/parts", 3), HasSubstr("parts are not a power of two"));
  EXPECT_THAT(error_with("/tiling/parts", 1 << 21), HasSubstr("parts are not a power of two"));
  EXPECT_THAT(error_with("/network/output", "tanh"), HasSubstr("output 'tanh' is not known"));
  EXPECT_THAT(error_with("/network/D_in", 1 << 20), HasSubstr("needs [1048576, 3]"));
  EXPECT_THAT(error_with("/network/D_out", 0), HasSubstr("out of range"));
  EXPECT_THAT(error_with("/network/hidden", {"3s"}), HasSubstr("not the one of its config"));
  EXPECT_THAT(error_with("/network/hidden", {"3"}), HasSubstr("layer '3' is not understood"));
  EXPECT_THAT(error_with("/network/hidden", 3), HasSubstr("cannot be read"));
  EXPECT_THAT(error_with("/network/hidden", "3s"), HasSubstr("cannot be read"));
  EXPECT_THAT(error_with("/note", std::string(70000, 'x')), HasSubstr("bytes about its run"));
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(error_with("/note", nlohmann::ordered_json::parse(deep)),
              HasSubstr("nested too deeply"));

  TensorFile file = to_tensor_file(example());
  file.metadata["sfnn.config"] = "[train]\nepoch = 1";
  EXPECT_THAT(error_of(file), HasSubstr("unknown key 'train.epoch'"));
  file.metadata["sfnn.checkpoint"] = "{";
  EXPECT_THAT(error_of(file), HasSubstr("cannot be read"));
  file.metadata.clear();
  EXPECT_THAT(error_of(file), HasSubstr("nothing of a run"));
}

}  // namespace
}  // namespace sfnn

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sfnn/sfnn.hpp>

#include "python/bindings/arrays.hpp"
#include "python/bindings/bind.hpp"
#include "python/bindings/shared_device.hpp"

namespace sfnn::python {

using namespace nb::literals;

namespace {

std::size_t rows_of(const Array<float>& x) { return x.shape(0); }

Inputs inputs_of(const Array<float>& x) {
  return {std::span<const float>(x.data(), x.size()), std::int64_t(x.shape(0))};
}

// x and y of one part, kept by the Data that is made of them; None: no examples.
Arrays arrays_of(nb::handle x, nb::handle y) {
  if (x.is_none()) return {};
  return {numbers_of(x), numbers_of(y), keep({nb::borrow(x), nb::borrow(y)})};
}

Data data_of(nb::handle x, nb::handle y, const std::string& output, std::int64_t outputs,
             std::int64_t inputs, bool center, const std::string& standardize, bool grey_x,
             bool grey_y, nb::handle x_test, nb::handle y_test, nb::handle x_valid,
             nb::handle y_valid) {
  const ArrayShape shape{.output = output,
                         .inputs = inputs,
                         .outputs = outputs,
                         .center = center,
                         .standardize = standardize,
                         .grey_x = grey_x,
                         .grey_y = grey_y};
  const Arrays train = arrays_of(x, y), test = arrays_of(x_test, y_test),
               valid = arrays_of(x_valid, y_valid);
  const nb::gil_scoped_release no_gil;
  return Data::from_arrays(shape, train, test, valid);
}

nb::ndarray<nb::numpy, float> predicted(const OnDevice<Network>& self, const Array<float>& x,
                                        std::int64_t particles, std::uint64_t seed,
                                        bool same_draws) {
  std::vector<float> means;
  {
    const Use use(self.device);
    means = predict(self.value, inputs_of(x),
                    {.particles = particles, .seed = seed, .same_draws = same_draws});
  }
  return to_numpy(std::move(means), {rows_of(x), std::size_t(self.value.outputs())});
}

nb::ndarray<nb::numpy, float> sampled(const OnDevice<Network>& self, const Array<float>& x,
                                      std::int64_t samples, std::uint64_t seed, bool same_draws,
                                      bool expected) {
  std::vector<float> y;
  {
    const Use use(self.device);
    y = sample(self.value, inputs_of(x),
               {.samples = samples, .seed = seed, .same_draws = same_draws, .expected = expected});
  }
  std::vector<std::size_t> shape{rows_of(x), std::size_t(samples)};
  if (expected || self.value.output() != "softmax")
    shape.push_back(std::size_t(self.value.outputs()));
  return to_numpy(std::move(y), shape);
}

Evaluation evaluated(const OnDevice<Network>& self, const Data& data, const std::string& part,
                     std::int64_t particles, std::uint64_t seed, std::int64_t draws,
                     bool same_draws, bool predict) {
  const Use use(self.device);
  return evaluate(self.value, data, part_of(part),
                  {.particles = particles,
                   .seed = seed,
                   .predict = predict,
                   .draws = draws,
                   .same_draws = same_draws});
}

nb::dict weights_of(const OnDevice<Network>& self) {
  nb::dict weights;
  for (WeightTensor& tensor : self.value.weights())
    weights[nb::str(tensor.name.c_str())] =
        nb::cast(to_numpy(std::move(tensor.values), {tensor.shape.begin(), tensor.shape.end()}));
  return weights;
}

using AnyShape = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

void set_weights(OnDevice<Network>& self, const nb::dict& weights) {
  std::vector<WeightTensor> tensors;
  for (const auto& [name, array] : weights) {
    const auto values = nb::cast<AnyShape>(array);
    WeightTensor& tensor = tensors.emplace_back(WeightTensor{nb::cast<std::string>(name), {}, {}});
    for (std::size_t i = 0; i < values.ndim(); ++i)
      tensor.shape.push_back(std::int64_t(values.shape(i)));
    tensor.values.assign(values.data(), values.data() + values.size());
  }
  const Use use(self.device);
  self.value.set_weights(tensors);
}

void bind_device(nb::module_& m) {
  nb::class_<SharedDevice>(m, "Device", "A CPU with its threads, or a GPU.")
      .def(
          "__init__",
          [](SharedDevice* self, const std::string& device, int threads, bool plain,
             const std::string& math, bool graph) {
            new (self) SharedDevice({device, plain, threads, math, graph});
          },
          "device"_a = "auto", "threads"_a = 0, "plain"_a = false, "math"_a = "fp32",
          "graph"_a = true)
      .def_prop_ro("name", [](const SharedDevice& d) { return d.device.name(); })
      .def_prop_ro("description", [](const SharedDevice& d) { return d.device.description(); })
      .def_prop_ro("choice", [](const SharedDevice& d) { return d.device.choice(); });
}

void bind_data(nb::module_& m) {
  nb::class_<Data>(m, "Data", "Examples to train and to test on.")
      .def_static("from_arrays", &data_of, "x"_a, "y"_a, "output"_a, "outputs"_a, "inputs"_a,
                  "center"_a, "standardize"_a, "grey_x"_a, "grey_y"_a, "x_test"_a.none(),
                  "y_test"_a.none(), "x_valid"_a.none(), "y_valid"_a.none())
      .def_static("load", &Data::load, "config"_a, "root"_a = "",
                  nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("name", &Data::name)
      .def_prop_ro("output", &Data::output)
      .def_prop_ro("inputs", &Data::inputs)
      .def_prop_ro("outputs", &Data::outputs)
      .def_prop_ro("has_pictures", &Data::has_pictures)
      .def(
          "examples",
          [](const Data& data, const std::string& part) { return data.examples(part_of(part)); },
          "part"_a = "train", "Number of examples of a part: train, valid or test.");
}

// A figure by draws of R; none: the network was trained without one.
template <class Figure>
auto by_proposal(Figure ProposalEvaluation::*figure) {
  return [figure](const Evaluation& e) -> std::optional<double> {
    if (!e.proposal) return std::nullopt;
    return (*e.proposal).*figure;
  };
}

void bind_evaluation(nb::module_& m) {
  nb::class_<Evaluation>(m, "Evaluation", "What a network is worth on some examples.")
      .def_ro("examples", &Evaluation::examples)
      .def_ro("particles", &Evaluation::particles)
      .def_ro("draws", &Evaluation::draws)
      .def_ro("nll", &Evaluation::nll)
      .def_ro("effective_particles", &Evaluation::effective_particles)
      .def_ro("error", &Evaluation::error)
      .def_ro("criterion_sse", &Evaluation::criterion_sse)
      .def_ro("mean_sse", &Evaluation::mean_sse)
      .def_ro("sigma", &Evaluation::sigma)
      .def_prop_ro("nll_se", [](const Evaluation& e) { return e.standard_error.nll; })
      .def_prop_ro("error_se", [](const Evaluation& e) { return e.standard_error.error; })
      .def_prop_ro("nll_proposal", by_proposal(&ProposalEvaluation::nll))
      .def_prop_ro("nll_proposal_se", by_proposal(&ProposalEvaluation::nll_se))
      .def_prop_ro("effective_particles_proposal",
                   by_proposal(&ProposalEvaluation::effective_particles))
      .def_prop_ro(
          "log_p", [](const Evaluation& e) { return to_numpy(e.log_p, {e.log_p.size()}); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "curve", [](const Evaluation& e) { return to_numpy(e.curve, {e.curve.size()}); },
          nb::rv_policy::automatic);
}

}  // namespace

DataPart part_of(const std::string& name) {
  if (name == "train") return DataPart::train;
  if (name == "valid") return DataPart::valid;
  if (name == "test") return DataPart::test;
  throw ConfigError("part '" + name + "' is not known: use train, valid or test");
}

void bind_network(nb::module_& m) {
  bind_device(m);
  bind_data(m);
  bind_evaluation(m);
  using Self = OnDevice<Network>;
  nb::class_<Self>(m, "Network", "A network with its weights on a device.")
      .def_static(
          "load",
          [](const DevicePtr& device, const std::filesystem::path& path, bool best) {
            const Use use(device);
            return Self(device, Network::load(device->device, path, best));
          },
          "device"_a, "path"_a, "best"_a = false)
      .def_static(
          "from_bytes",
          [](const DevicePtr& device, const nb::bytes& bytes) {
            const std::span view(static_cast<const std::byte*>(bytes.data()), bytes.size());
            const Use use(device);
            return Self(device, Network::from_bytes(device->device, view));
          },
          "device"_a, "data"_a)
      .def("to_bytes",
           [](const Self& self) {
             const std::string bytes = self.value.to_bytes();
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "save",
          [](const Self& self, const std::filesystem::path& path) { self.value.save(path); },
          "path"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("predict", &predicted, "x"_a.noconvert(), "particles"_a, "seed"_a, "same_draws"_a)
      .def("sample", &sampled, "x"_a.noconvert(), "samples"_a, "seed"_a, "same_draws"_a,
           "expected"_a)
      .def("evaluate", &evaluated, "data"_a, "part"_a, "particles"_a, "seed"_a, "draws"_a,
           "same_draws"_a, "predict"_a)
      .def("weights", &weights_of)
      .def("set_weights", &set_weights, "weights"_a)
      .def_prop_ro("device", [](const Self& self) { return self.device; })
      .def_prop_ro("description", [](const Self& self) { return self.value.description(); })
      .def_prop_ro("output", [](const Self& self) { return self.value.output(); })
      .def_prop_ro("inputs", [](const Self& self) { return self.value.inputs(); })
      .def_prop_ro("outputs", [](const Self& self) { return self.value.outputs(); })
      .def_prop_ro("hidden", [](const Self& self) { return self.value.hidden(); })
      .def_prop_ro("parameter_count", [](const Self& self) { return self.value.parameter_count(); })
      .def_prop_ro("step", [](const Self& self) { return self.value.step(); })
      .def_prop_ro("config", [](const Self& self) { return RunConfig(self.value.config()); });
}

}  // namespace sfnn::python

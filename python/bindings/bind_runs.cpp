#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sfnn/sfnn.hpp>

#include "python/bindings/arrays.hpp"
#include "python/bindings/bind.hpp"
#include "python/bindings/listener.hpp"
#include "python/bindings/shared_device.hpp"

namespace sfnn::python {

using namespace nb::literals;

namespace {

using Path = std::filesystem::path;

// train(options, callbacks) without the GIL. What was raised meanwhile is raised at the end, when
// the run has saved its state.
template <class Train>
RunResult listen(SharedDevice& device, Listeners listeners, Train&& train) {
  Listener listener(std::move(listeners));
  RunResult result;
  {
    const Use use(device);
    result = train(listener.callbacks());
  }
  listener.raise();
  return result;
}

RunResult train(SharedDevice& device, const Path& directory, const RunConfig& config,
                std::optional<Data> data, const Path& data_root,
                std::optional<std::pair<double, double>> search, nb::object step, nb::object epoch,
                nb::object message, nb::object warning) {
  TrainRunOptions options{.data = std::move(data), .data_root = data_root};
  if (search) options.search = RateSearchOptions{search->first, search->second};
  return listen(device, {step, epoch, message, warning}, [&](const Callbacks& callbacks) {
    return train_run(device.device, directory, config, options, callbacks);
  });
}

RunResult resume(SharedDevice& device, const Path& directory, std::optional<Data> data,
                 const Path& data_root, std::optional<std::int64_t> epochs, nb::object step,
                 nb::object epoch, nb::object message, nb::object warning) {
  const TrainRunOptions options{.data = std::move(data), .data_root = data_root, .epochs = epochs};
  return listen(device, {step, epoch, message, warning}, [&](const Callbacks& callbacks) {
    return resume_run(device.device, directory, options, callbacks);
  });
}

nb::dict metrics_of(const SavedRun& run) {
  nb::dict metrics;
  for (MetricColumn& column : run.metrics()) {
    const std::size_t epochs = column.values.size();
    metrics[nb::str(column.key.c_str())] = nb::cast(to_numpy(std::move(column.values), {epochs}));
  }
  return metrics;
}

nb::list sessions_of(const SavedRun& run) {
  nb::list sessions;
  for (const SessionRecord& record : run.sessions()) {
    nb::dict session;
    session["started"] = record.started;
    session["step"] = record.step;
    session["device"] = record.device;
    session["cpu"] = record.cpu;
    session["version"] = record.version;
    sessions.append(session);
  }
  return sessions;
}

// A row for each estimator and weight matrix.
nb::list rows_of(const Study& study) {
  nb::list rows;
  for (const EstimatorFigures& estimator : study.estimators) {
    for (const GradientFigures& figures : estimator.weights) {
      nb::dict row;
      row["estimator"] = estimator.estimator;
      row["weights"] = figures.weights;
      row["bias"] = figures.bias.value;
      row["bias_se"] = figures.bias.error;
      row["variance"] = figures.variance;
      row["cosine"] = figures.cosine;
      row["cosine_sd"] = figures.cosine_sd;
      row["seconds"] = estimator.seconds;
      rows.append(row);
    }
  }
  return rows;
}

nb::list study(const OnDevice<Network>& network, const Data& data,
               std::optional<std::int64_t> particles, std::int64_t draws) {
  Study made;
  {
    const Use use(network.device);
    made = study_estimators(network.value, data, {.particles = particles, .draws = draws});
  }
  return rows_of(made);
}

std::string report(SharedDevice& device, const std::vector<Path>& runs, bool best,
                   const Path& data_root) {
  const Use use(device);
  return report_html(device.device, runs, {.best = best, .data_root = data_root});
}

nb::bytes png(const OnDevice<Network>& network, const Data& data, std::int64_t rows,
              std::int64_t samples, std::int64_t first, bool draw_pixels) {
  std::string picture;
  {
    const Use use(network.device);
    picture = sample_png(network.value, data, {rows, samples, first, draw_pixels});
  }
  return nb::bytes(picture.data(), picture.size());
}

}  // namespace

void bind_runs(nb::module_& m) {
  nb::class_<RunResult>(m, "RunResult", "How a run ended.")
      .def_ro("finished", &RunResult::finished)
      .def_ro("step", &RunResult::step)
      .def_ro("learning_rate", &RunResult::learning_rate)
      .def_ro("test", &RunResult::test);

  m.def("train_run", &train, "device"_a, "directory"_a, "config"_a, "data"_a.none() = nb::none(),
        "data_root"_a = "", "search"_a.none() = nb::none(), "step"_a.none() = nb::none(),
        "epoch"_a.none() = nb::none(), "message"_a.none() = nb::none(),
        "warning"_a.none() = nb::none());
  m.def("resume_run", &resume, "device"_a, "directory"_a, "data"_a.none() = nb::none(),
        "data_root"_a = "", "epochs"_a.none() = nb::none(), "step"_a.none() = nb::none(),
        "epoch"_a.none() = nb::none(), "message"_a.none() = nb::none(),
        "warning"_a.none() = nb::none());
  m.def("study_estimators", &study, "network"_a, "data"_a, "particles"_a.none() = nb::none(),
        "draws"_a = 50);
  m.def("report_html", &report, "device"_a, "runs"_a, "best"_a = false, "data_root"_a = "");
  m.def("sample_png", &png, "network"_a, "data"_a, "rows"_a, "samples"_a, "first"_a,
        "draw_pixels"_a);

  nb::class_<SavedRun>(m, "SavedRun", "A run on disk.")
      .def(nb::init<Path>(), "directory"_a)
      .def_prop_ro("directory", &SavedRun::directory)
      .def_prop_ro("config", &SavedRun::config)
      .def("data", &SavedRun::data, "root"_a = "", nb::call_guard<nb::gil_scoped_release>())
      .def("metrics", &metrics_of)
      .def("sessions", &sessions_of)
      .def("checkpoints", &SavedRun::checkpoints)
      .def("best", &SavedRun::best);
}

}  // namespace sfnn::python

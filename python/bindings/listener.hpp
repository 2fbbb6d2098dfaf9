// What Python hears while the engine trains, and how it says stop.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <sfnn/progress.hpp>

namespace sfnn::python {

namespace nb = nanobind;

// Each callable may be None. step and epoch get a Progress and end the training if they return
// True; message and warning get a line.
struct Listeners {
  nb::object step, epoch, message, warning;
};

// The engine trains without the GIL and asks after each step whether to stop. Ctrl-C, and whatever
// a callable raises, let it stop as if asked to, so that a run saves its state; it is raised
// afterwards.
class Listener {
 public:
  explicit Listener(Listeners);

  Callbacks callbacks();
  bool heard_stop() const { return stop_; }  // a callable asked for it
  void raise();                              // with the GIL: what was raised meanwhile, if anything

 private:
  bool stops();
  void tell(const nb::object& callable, const ProgressFigures&);
  void tell(const nb::object& callable, const std::string& line);
  template <class F>
  void with_gil(F&&);

  Listeners listeners_;
  bool stop_ = false;
  std::exception_ptr raised_;
  std::chrono::steady_clock::time_point last_look_{};
};

}  // namespace sfnn::python

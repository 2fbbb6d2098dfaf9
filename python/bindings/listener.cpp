#include "python/bindings/listener.hpp"

#include <nanobind/stl/string.h>

#include <sfnn/sfnn.hpp>

namespace sfnn::python {
namespace {

// Taking the GIL after each of many short steps would make other threads wait.
constexpr std::chrono::milliseconds kLookEvery{20};

}  // namespace

Listener::Listener(Listeners listeners) : listeners_(std::move(listeners)) {}

template <class F>
void Listener::with_gil(F&& f) {
  if (raised_) return;
  const nb::gil_scoped_acquire gil;
  try {
    f();
  } catch (nb::python_error&) {
    raised_ = std::current_exception();
  }
}

bool Listener::stops() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ >= kLookEvery) {
    last_look_ = now;
    with_gil([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
  }
  return stop_ || raised_;
}

void Listener::tell(const nb::object& callable, const ProgressFigures& figures) {
  with_gil([&] {
    const nb::object answer = callable(figures);
    if (answer.is(nb::handle(Py_True))) stop_ = true;
  });
}

void Listener::tell(const nb::object& callable, const std::string& line) {
  with_gil([&] { callable(line); });
}

Callbacks Listener::callbacks() {
  Callbacks callbacks{.stop = [this] { return stops(); }};
  const auto& [step, epoch, message, warning] = listeners_;
  if (!step.is_none()) callbacks.step = [&](const ProgressFigures& p) { tell(step, p); };
  if (!epoch.is_none()) callbacks.epoch = [&](const ProgressFigures& p) { tell(epoch, p); };
  if (!message.is_none()) callbacks.message = [&](const std::string& s) { tell(message, s); };
  if (!warning.is_none()) callbacks.warning = [&](const std::string& s) { tell(warning, s); };
  return callbacks;
}

void Listener::raise() {
  if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
}

}  // namespace sfnn::python

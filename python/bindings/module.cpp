// sfnn._engine: the classes of <sfnn/sfnn.hpp> for Python. The package around it (python/src/sfnn)
// prepares arrays and has the manners; nothing here prints.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sfnn/sfnn.hpp>

#include "python/bindings/bind.hpp"

namespace sfnn::python {

namespace nb = nanobind;

namespace {

// Error classes that are built-in ones, too: `except ValueError` catches a bad option.
struct Errors {
  nb::object error, config, data, save, shape;
};
Errors& errors() {
  static auto* const kept = new Errors;  // never destroyed: it may be needed until Python ends
  return *kept;
}

nb::object new_error(nb::module_& m, const char* name, const char* doc, nb::object bases) {
  const std::string full = nb::cast<std::string>(m.attr("__name__")) + "." + name;
  nb::object made =
      nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), /*dict=*/nullptr));
  if (!made.is_valid()) throw nb::python_error();
  m.attr(name) = made;
  return made;
}

void translate(const std::exception_ptr& thrown, void*) {
  const auto set = [](const nb::object& type, const std::exception& e) {
    PyErr_SetString(type.ptr(), e.what());
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& e) {
    set(errors().config, e);
  } catch (const DataError& e) {
    set(errors().data, e);
  } catch (const SaveError& e) {
    set(errors().save, e);
  } catch (const ShapeError& e) {
    set(errors().shape, e);
  } catch (const Error& e) {
    set(errors().error, e);
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  Errors& e = errors();
  const auto both = [&](PyObject* builtin) {
    return nb::object(nb::make_tuple(e.error, nb::borrow(builtin)));
  };
  e.error = new_error(m, "Error", "What the engine raises.", nb::borrow(PyExc_Exception));
  e.config = new_error(m, "ConfigError", "Something was asked for that cannot be.",
                       both(PyExc_ValueError));
  e.data =
      new_error(m, "DataError", "A file or array is missing, damaged or not what it should be.",
                both(PyExc_ValueError));
  e.save = new_error(m, "SaveError", "A file cannot be written.", both(PyExc_OSError));
  e.shape = new_error(m, "ShapeError", "Arrays that do not fit the network or each other.",
                      both(PyExc_ValueError));
  nb::register_exception_translator(translate);
}

NB_MODULE(_engine, m) {
  m.doc() = "The engine behind the package sfnn.";
  bind_errors(m);
  bind_config(m);
  bind_network(m);
  bind_training(m);
  bind_runs(m);
  m.def("library_version", &library_version, "Version of the engine.");
  m.def(
      "list_devices",
      [] {
        std::vector<std::string> names;
        for (const DeviceInfo& device : list_devices()) names.push_back(device.name);
        return names;
      },
      "Names that `device` can be set to here.");
}

}  // namespace sfnn::python

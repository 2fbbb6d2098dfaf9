#include "tests/gpusim/simulator.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "tests/gpusim/ptx_text.hpp"
#include "tests/gpusim/stream_queue.hpp"

namespace sfnn::gpusim {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::kBadPtx, "cannot read " + path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

cudaError_t error_for(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOutOfBounds:
      return cudaErrorIllegalAddress;
    case FaultKind::kMisaligned:
      return cudaErrorMisalignedAddress;
    case FaultKind::kBadPtx:
      return cudaErrorInvalidPtx;
    default:
      return cudaErrorLaunchFailure;
  }
}

}  // namespace

Simulator& Simulator::get() {
  static auto& simulator = *new Simulator;  // outlives every static object that calls CUDA
  return simulator;
}

Simulator::Simulator() {
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  if (environment("SFNN_GPUSIM_ORDER") == "down") order = ThreadOrder::kDown;
  const std::string_view named = environment("SFNN_GPUSIM_DRIVER");
  if (named == "none") driver = Driver::kNone;
  if (named == "old") driver = Driver::kOld;
  if (named == "no-device") driver = Driver::kNoDevice;
  if (named == "no-code") driver = Driver::kNoCode;
  if (named == "busy") driver = Driver::kBusy;
  if (named == "broken") driver = Driver::kBroken;
  const std::string_view bytes = environment("SFNN_GPUSIM_MEMORY");
  if (!bytes.empty()) memory.set_total(std::strtoull(bytes.data(), nullptr, 10));
}

// The build writes the list of a test's PTX files beside its program; SFNN_GPUSIM_PTX_LIST names
// another list.
void Simulator::read_ptx_files() {
  if (files_read_) return;
  const char* named = std::getenv("SFNN_GPUSIM_PTX_LIST");
  const std::string list =
      named ? named : std::filesystem::read_symlink("/proc/self/exe").string() + ".ptx-list";
  std::istringstream paths(contents(list));
  for (std::string path; std::getline(paths, path);)
    if (!path.empty()) files_.push_back({path, contents(path), nullptr});
  files_read_ = true;
}

Module& Simulator::module_with(const std::string& needle, const std::string& what) {
  read_ptx_files();
  for (PtxFile& file : files_) {
    if (file.text.find(needle) == std::string::npos) continue;
    if (!file.module) {
      try {
        file.module = load_module(file.path, file.text);
      } catch (const PtxError& e) {
        throw Fault(FaultKind::kBadPtx, file.path + ", " + e.what());
      }
      for (const auto& [name, array] : file.module->arrays) memory.adopt(array.data(), array.bytes);
    }
    return *file.module;
  }
  throw Fault(FaultKind::kBadPtx, "no PTX file of this program has " + what);
}

const Kernel& Simulator::kernel_of(const void* host) {
  const Kernel*& kernel = kernels_[host];
  if (kernel) return *kernel;
  const std::string& name = kernel_names_.at(host);
  kernel = module_with(".entry " + name + "(", "the kernel " + name).kernels.at(name).get();
  return *kernel;
}

const GlobalArray& Simulator::variable_of(const void* host) {
  const std::string& name = variable_names_.at(host);
  return module_with(" " + name, "the variable " + name).arrays.at(name);
}

int Simulator::compute_capability() {
  try {
    read_ptx_files();
  } catch (const Fault&) {
    return 80;  // a program without kernels
  }
  for (const PtxFile& file : files_) {
    const auto at = file.text.find(".target sm_");
    if (at != std::string::npos) return std::atoi(file.text.c_str() + at + 11);
  }
  return 80;
}

void Simulator::run(const Kernel& kernel, Dim3 grid, Dim3 block, std::size_t dynamic_shared,
                    std::vector<std::uint8_t> params) {
  Launch launch{
      kernel, grid, block, dynamic_shared, std::move(params), order, ++generation_, memory, 0, 0,
      0,      {},   {}};
  Block runner(launch);
  const std::uint32_t blocks = grid[0] * grid[1] * grid[2];
  for (std::uint32_t n = 0; n < blocks; ++n)
    runner.run(order == ThreadOrder::kUp ? n : blocks - 1 - n);

  LaunchRecord record;
  record.kernel = kernel.title;
  record.grid = grid;
  record.block = block;
  record.instructions = launch.instructions;
  record.load_bytes = launch.load_bytes;
  record.store_bytes = launch.store_bytes;
  for (Allocation* a : launch.touched)
    record.buffers.push_back({a->base, a->bytes, a->loads.take(), a->stores.take()});
  records.push_back(std::move(record));
}

cudaError_t Simulator::guarded(const std::function<void()>& work) {
  if (sticky() != cudaSuccess) return sticky();
  try {
    work();
    return cudaSuccess;
  } catch (const Fault& fault) {
    std::fprintf(stderr, "gpusim: %s\n", fault.what());
    fault_ = fault;
    return last_error_ = sticky_error_ = error_for(fault.kind);
  }
}

cudaError_t Simulator::take_last_error(bool clear) {
  if (fault_) return sticky_error_;
  const cudaError_t error = last_error_;
  if (clear) last_error_ = cudaSuccess;
  return error;
}

void Simulator::clear_fault() {
  fault_.reset();
  sticky_error_ = last_error_ = cudaSuccess;
}

ThreadOrder set_thread_order(ThreadOrder order) {
  return std::exchange(Simulator::get().order, order);
}
const std::optional<Fault>& last_fault() { return Simulator::get().fault(); }
void clear_fault() { Simulator::get().clear_fault(); }
StreamOrder set_stream_order(StreamOrder order) {
  StreamQueue::drain_all();
  return std::exchange(Simulator::get().stream_order, order);
}
void set_driver(Driver driver) { Simulator::get().driver = driver; }
const Calls& calls() { return Simulator::get().calls; }
void clear_calls() { Simulator::get().calls = {}; }
void set_device_memory(std::size_t bytes) { Simulator::get().memory.set_total(bytes); }
const std::vector<LaunchRecord>& launches() { return Simulator::get().records; }
void clear_launches() { Simulator::get().records.clear(); }

std::string check_ptx(const std::string& text) {
  try {
    load_module("", text);
    return "";
  } catch (const PtxError& e) {
    return e.what();
  }
}

std::uint64_t LaunchRecord::sectors_by_block() const {
  std::uint64_t sum = 0;
  for (const auto& b : buffers) sum += b.loads.by_block + b.stores.by_block;
  return sum;
}

std::uint64_t LaunchRecord::sectors_by_launch() const {
  std::uint64_t sum = 0;
  for (const auto& b : buffers) sum += b.loads.by_launch + b.stores.by_launch;
  return sum;
}

}  // namespace sfnn::gpusim

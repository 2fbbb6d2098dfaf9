// Streams, events and graphs: stand-ins for the runtime's functions of these names.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>

#include "tests/gpusim/simulator.hpp"
#include "tests/gpusim/stream.hpp"
#include "tests/gpusim/stream_queue.hpp"

namespace sfnn::gpusim {
namespace {

struct Node {
  NodeKind kind;
  std::function<void()> work;
};

// What capturing streams have written down so far; the order of the calls is one that its
// dependences allow.
struct Capture {
  std::vector<Node> nodes;
  std::set<cudaStream_t> members;   // streams that write here
  std::set<cudaStream_t> unjoined;  // those that an event drew in and that have not come back
  bool valid = true;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool from_blocking_stream = true;  // which the default stream would wait for
};

std::set<std::shared_ptr<Capture>>& captures() {
  static auto& set = *new std::set<std::shared_ptr<Capture>>;
  return set;
}

}  // namespace
}  // namespace sfnn::gpusim

using sfnn::gpusim::Capture;
using sfnn::gpusim::captures;
using sfnn::gpusim::Simulator;

// The runtime's opaque types, ours to define.
struct CUstream_st {
  sfnn::gpusim::StreamQueue queue;
  std::shared_ptr<Capture> capture;
  bool is_origin = false, blocking = true;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time{};
  bool recorded = false;
  std::shared_ptr<sfnn::gpusim::EventMarks> marks = std::make_shared<sfnn::gpusim::EventMarks>();
  std::shared_ptr<Capture> capture;
  cudaStream_t stream = nullptr;
};
struct CUgraph_st {
  std::vector<sfnn::gpusim::Node> nodes;
};
struct CUgraphExec_st {
  std::vector<sfnn::gpusim::Node> nodes;
};

namespace sfnn::gpusim {
namespace {

bool is_default(cudaStream_t s) {
  return s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread;
}
std::shared_ptr<Capture> capture_of(cudaStream_t s) { return is_default(s) ? nullptr : s->capture; }

// Captures that the condition holds for are lost; the error, if there are any.
template <class Condition>
cudaError_t invalidate_where(Condition condition, cudaError_t error) {
  bool any = false;
  for (const auto& c : captures()) {
    if (!condition(*c)) continue;
    c->valid = false;
    any = true;
  }
  return any ? Simulator::get().fail(error) : cudaSuccess;
}

// To wait for work that is only written down is an error in every mode.
cudaError_t wait_for(const std::shared_ptr<Capture>& capture) {
  ++Simulator::get().calls.waits;
  if (!capture) return Simulator::get().sticky();
  capture->valid = false;
  return Simulator::get().fail(cudaErrorStreamCaptureUnsupported);
}

}  // namespace

cudaError_t submit(cudaStream_t stream, NodeKind kind, std::function<void()> work) {
  Simulator& sim = Simulator::get();
  const auto guard = sim.lock();
  if (const auto capture = capture_of(stream)) {
    capture->nodes.push_back({kind, std::move(work)});
    return cudaSuccess;
  }
  if (is_default(stream)) {
    const auto waits = [](const Capture& c) { return c.from_blocking_stream; };
    if (const auto e = invalidate_where(waits, cudaErrorStreamCaptureImplicit)) return e;
    StreamQueue::drain_all();
    return sim.guarded(work);
  }
  stream->queue.push(std::move(work));
  return sim.sticky();
}

void finish(cudaStream_t stream) {
  const auto guard = Simulator::get().lock();
  is_default(stream) ? StreamQueue::drain_all() : stream->queue.drain();
}

cudaError_t forbid_while_capturing() {
  const auto strict = [](const Capture& c) { return c.mode != cudaStreamCaptureModeRelaxed; };
  return invalidate_where(strict, cudaErrorStreamCaptureUnsupported);
}

}  // namespace sfnn::gpusim

using sfnn::gpusim::capture_of;
using sfnn::gpusim::forbid_while_capturing;
using sfnn::gpusim::is_default;
using sfnn::gpusim::StreamQueue;
using sfnn::gpusim::submit;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* s) {
  *s = new CUstream_st;
  return Simulator::get().sticky();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  *s = new CUstream_st;
  (*s)->blocking = !(flags & cudaStreamNonBlocking);
  return Simulator::get().sticky();
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return cudaStreamCreateWithFlags(s, flags);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  if (is_default(s)) return Simulator::get().fail(cudaErrorInvalidResourceHandle);
  if (s->capture) s->capture->members.erase(s);
  s->queue.drain();
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  sfnn::gpusim::finish(s);
  return sfnn::gpusim::wait_for(capture_of(s));
}
cudaError_t cudaStreamQuery(cudaStream_t s) { return cudaStreamSynchronize(s); }
cudaError_t cudaDeviceSynchronize() {
  if (const auto e = forbid_while_capturing()) return e;
  sfnn::gpusim::finish(nullptr);
  return sfnn::gpusim::wait_for(nullptr);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void* data) {
  return submit(s, sfnn::gpusim::NodeKind::kHost, [=] { f(data); });
}

cudaError_t cudaEventCreate(cudaEvent_t* e) {
  *e = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  e->capture = capture_of(s);
  e->stream = s;
  e->recorded = true;
  e->time = std::chrono::steady_clock::now();
  if (!e->capture && !is_default(s)) s->queue.push_record(e->marks);
  return Simulator::get().sticky();
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned) {
  return cudaEventRecord(e, s);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  StreamQueue::reach(*e->marks);
  return sfnn::gpusim::wait_for(e->capture);
}
cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  if (!from->recorded || !to->recorded)
    return Simulator::get().fail(cudaErrorInvalidResourceHandle);
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
// An event of a capturing stream draws the waiting stream into the capture; waiting the other way
// round brings it back.
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  if (!e->capture) {
    if (const auto capture = capture_of(s); capture && e->recorded) {
      capture->valid = false;
      return Simulator::get().fail(cudaErrorStreamCaptureIsolation);
    }
    if (!is_default(s)) s->queue.push_wait(e->marks);
    return Simulator::get().sticky();
  }
  if (is_default(s)) return Simulator::get().fail(cudaErrorStreamCaptureImplicit);
  if (!s->capture) {
    s->capture = e->capture;
    s->capture->members.insert(s);
    s->capture->unjoined.insert(s);
  } else if (s->capture == e->capture) {
    s->capture->unjoined.erase(e->stream);
  } else {
    return Simulator::get().fail(cudaErrorStreamCaptureMerge);
  }
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode) {
  if (is_default(s)) return Simulator::get().fail(cudaErrorStreamCaptureUnsupported);
  if (s->capture) return Simulator::get().fail(cudaErrorIllegalState);
  s->capture = std::make_shared<Capture>();
  s->capture->mode = mode;
  s->capture->from_blocking_stream = s->blocking;
  s->is_origin = true;
  s->capture->members.insert(s);
  captures().insert(s->capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
  *graph = nullptr;
  if (is_default(s) || !s->capture || !s->is_origin)
    return Simulator::get().fail(cudaErrorStreamCaptureUnmatched);
  const auto capture = s->capture;
  for (cudaStream_t member : capture->members) member->capture = nullptr;
  s->is_origin = false;
  captures().erase(capture);
  if (!capture->valid) return Simulator::get().fail(cudaErrorStreamCaptureInvalidated);
  if (!capture->unjoined.empty()) return Simulator::get().fail(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{std::move(capture->nodes)};
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  const auto capture = capture_of(s);
  *status = !capture         ? cudaStreamCaptureStatusNone
            : capture->valid ? cudaStreamCaptureStatusActive
                             : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = graph->nodes.size();  // nodes themselves are not handed out
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s) {
  const auto guard = Simulator::get().lock();
  for (const auto& node : exec->nodes)
    if (const auto e = submit(s, node.kind, node.work)) return e;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

}  // extern "C"

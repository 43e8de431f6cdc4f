// Bounds the calls that a peer makes and cancels at once, which it may do without end. gRPC limits
// only the calls that are open (GRPC_ARG_MAX_CONCURRENT_STREAMS). For each cancelled call, too, it
// makes and keeps ten kilobytes until the program looks at it. And gRPC goes on reading, as long as
// there is something to read, before it lets the program look.
//
// With this file, a connection can make only so many calls between two looks at the completion
// queue. A peer that cancels no calls cannot make more anyway, since none of its calls ends before
// the program has looked. Calls beyond the bound are read and forgotten.
//
// The linker redirects gRPC's own calls of these two functions to this file (--wrap,
// cmake/stream_flood.cmake). With other versions of gRPC and Abseil this file is not linked. The
// coordinator then says at its start that nothing bounds such calls.
#include <absl/base/options.h>
#include <grpc/grpc.h>
#include <grpcpp/version_info.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#define HPC_JOIN_NAMES(a, b) a##b
#define HPC_IS_KNOWN(name) HPC_JOIN_NAMES(HPC_KNOWN_, name)
#define HPC_KNOWN_debian3 1

#if GRPC_CPP_VERSION_MAJOR != 1 || GRPC_CPP_VERSION_MINOR != 51
#error "This was read against gRPC 1.51: another gRPC may do something else in these functions"
#endif
#if !HPC_IS_KNOWN(ABSL_OPTION_INLINE_NAMESPACE_NAME)
#error "This was read against the gRPC that Debian builds with Abseil's inline namespace debian3"
#endif

struct grpc_chttp2_transport;
struct grpc_chttp2_stream;

#define HPC_ACCEPT_STREAM "_Z33grpc_chttp2_parsing_accept_streamP21grpc_chttp2_transportj"

grpc_chttp2_stream* RealAcceptStream(grpc_chttp2_transport* connection,
                                     uint32_t id) asm("__real_" HPC_ACCEPT_STREAM);
grpc_event RealNext(grpc_completion_queue* queue, gpr_timespec deadline,
                    void* reserved) asm("__real_grpc_completion_queue_next");

grpc_chttp2_stream* AcceptStream(grpc_chttp2_transport* connection,
                                 uint32_t id) asm("__wrap_" HPC_ACCEPT_STREAM);
grpc_event Next(grpc_completion_queue* queue, gpr_timespec deadline,
                void* reserved) asm("__wrap_grpc_completion_queue_next");

// More calls than any of our servers lets one connection have open.
static constexpr int kMostBetweenLooks = 4000;

static std::atomic<bool> looked = false;

// Whether the connection may make one more call. Connections that have ended are forgotten at the
// next look.
static bool MayHaveOneMore(grpc_chttp2_transport* connection) {
  static std::mutex mutex;
  static auto* const made = new std::map<grpc_chttp2_transport*, int>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (looked.exchange(false, std::memory_order_relaxed)) made->clear();
  int& count = (*made)[connection];
  return count < kMostBetweenLooks && ++count > 0;
}

grpc_event Next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  looked.store(true, std::memory_order_relaxed);
  return RealNext(queue, deadline, reserved);
}

grpc_chttp2_stream* AcceptStream(grpc_chttp2_transport* connection, uint32_t id) {
  return MayHaveOneMore(connection) ? RealAcceptStream(connection, id) : nullptr;
}

// gRPC's executors: two threads, which it starts as soon as it is used at all. A command that talks
// to one Unix socket has no work for them, so here they start with the first: a name to be
// resolved, or a connection whose writes must wait.
//
// The linker brings what gRPC asks of its executors here (--wrap, cmake/dependencies.cmake), and
// what is asked here of the originals there (executor.cc, gRPC 1.51). With another version, or gRPC
// as a shared library, nothing comes between.
#include <grpcpp/version_info.h>

#include <mutex>
#include <utility>

#include "absl/status/status.h"

#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51

struct grpc_closure;

#define HPC_INIT_ALL "_ZN9grpc_core8Executor7InitAllEv"
#define HPC_SET_THREADING_ALL "_ZN9grpc_core8Executor15SetThreadingAllEb"
#define HPC_IS_THREADED_DEFAULT "_ZN9grpc_core8Executor17IsThreadedDefaultEv"
#define HPC_RUN                                                                           \
  "_ZN9grpc_core8Executor3RunEP12grpc_closureN4absl7debian36StatusENS_12ExecutorTypeENS_" \
  "15ExecutorJobTypeE"

// Does nothing where it has been called before, since the last shutdown.
void RealInitAll() asm("__real_" HPC_INIT_ALL);
void RealSetThreadingAll(bool enable) asm("__real_" HPC_SET_THREADING_ALL);
void RealRun(grpc_closure* closure, absl::Status error, int type, int job) asm("__real_" HPC_RUN);

void InitAll() asm("__wrap_" HPC_INIT_ALL);
void SetThreadingAll(bool enable) asm("__wrap_" HPC_SET_THREADING_ALL);
bool IsThreadedDefault() asm("__wrap_" HPC_IS_THREADED_DEFAULT);
void Run(grpc_closure* closure, absl::Status error, int type, int job) asm("__wrap_" HPC_RUN);

static void Start() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  RealInitAll();
}

void InitAll() {}

void Run(grpc_closure* closure, absl::Status error, int type, int job) {
  Start();
  RealRun(closure, std::move(error), type, job);
}

// Around a fork, where that is watched (GRPC_ENABLE_FORK_SUPPORT).
void SetThreadingAll(bool enable) {
  Start();
  RealSetThreadingAll(enable);
}

// Asked by who would rather hand its own work on than go on with it.
bool IsThreadedDefault() { return false; }

#endif

#include "train/testing/fake_nccl.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "train/nccl/nccl_abi.h"

namespace hpc::train {
namespace {

constexpr int kMostRanks = 8;
constexpr size_t kSlot = 256 << 10;  // how many bytes a rank shows the others at a time

// Lies in memory that all ranks map.
struct Meeting {
  struct Rank {
    std::atomic<uint64_t> shown, seen;  // how often it showed its slot, and read the others'
    char slot[kSlot];
  };
  std::atomic<int> came;
  Rank ranks[kMostRanks];
};

[[noreturn]] void Misused(const char* what) {
  std::fprintf(stderr, "fake_nccl: %s\n", what);
  std::abort();
}

}  // namespace

struct NcclComm {
  int rank = 0, size = 0;
  Meeting* meeting = nullptr;
  std::string path;
  std::atomic<bool> ended{false};       // was aborted or revoked; nothing waits any more
  std::atomic<bool> freed{false};       // its memory never is, so that its use is found out
  std::atomic<bool> called{false};      // a thread is in a call
  std::atomic<int> queued{0};           // how many operations
  std::atomic<int> asked{0};            // how often ncclCommGetAsyncError was, since the last call
  std::atomic<int> error{0};            // what that reports
  std::atomic<bool> never_done{false};  // operations in progress stay so
};

namespace {

void Nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

// The order of FAKE_NCCL for this call of `name`.
struct Plan {
  std::string action;
  NcclResult result = NcclResult::kSuccess;
};
Plan PlanOf(const char* name) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  std::lock_guard lock(mutex);
  const int number = ++calls[name];
  const char* text = std::getenv("FAKE_NCCL");
  std::istringstream words(text == nullptr ? "" : text);
  std::string call, action;
  int which = 0, result = 0;
  words >> call >> which >> action >> result;
  if (call != name || which != number) return {};
  return {action, static_cast<NcclResult>(result)};
}

// Allows one thread at a time, and none after the end.
class InCall {
 public:
  explicit InCall(NcclComm* comm) : comm_(comm) {
    if (comm->freed) Misused("a communicator is used after its end");
    if (comm->called.exchange(true)) Misused("a communicator is used by two threads at a time");
  }
  ~InCall() { comm_->called = false; }

 private:
  NcclComm* const comm_;
};

bool Await(const NcclComm& comm, const std::function<bool()>& condition) {
  while (!condition()) {
    if (comm.ended) return false;
    Nap();
  }
  return true;
}

// All ranks show `bytes` of `mine`, and `take` gets what rank r showed, for each rank. Returns
// false if the communicator was ended meanwhile.
bool Exchange(NcclComm& comm, const char* mine, size_t bytes,
              const std::function<void(int rank, const char* shown)>& take) {
  Meeting::Rank& own = comm.meeting->ranks[comm.rank];
  const uint64_t round = own.shown + 1;
  const auto all = [&](std::atomic<uint64_t> Meeting::Rank::*counter, uint64_t least) {
    for (int rank = 0; rank < comm.size; ++rank) {
      if (comm.meeting->ranks[rank].*counter < least) return false;
    }
    return true;
  };
  if (!Await(comm, [&] { return all(&Meeting::Rank::seen, round - 1); })) return false;
  if (mine != nullptr) std::memcpy(own.slot, mine, bytes);
  own.shown = round;
  if (!Await(comm, [&] { return all(&Meeting::Rank::shown, round); })) return false;
  for (int rank = 0; rank < comm.size; ++rank) take(rank, comm.meeting->ranks[rank].slot);
  own.seen = round;
  return true;
}

// Calls `part(offset, bytes)` for all of `all` bytes, a slot at a time.
void InSlots(size_t all, const std::function<bool(size_t, size_t)>& part) {
  for (size_t at = 0; at < all; at += kSlot) {
    if (!part(at, std::min(kSlot, all - at))) return;
  }
}

template <typename T>
void CombineAs(NcclOp op, char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    T& a = reinterpret_cast<T*>(to)[i];
    const T b = reinterpret_cast<const T*>(from)[i];
    a = op == NcclOp::kMin ? std::min(a, b) : op == NcclOp::kMax ? std::max(a, b) : T(a + b);
  }
}

using Combine = void (*)(NcclOp, char*, const char*, size_t);
struct Kind {
  size_t size;
  Combine combine;
};
Kind KindOf(NcclType type) {
  switch (type) {
    case NcclType::kUint8:
      return {1, CombineAs<uint8_t>};
    case NcclType::kInt32:
      return {4, CombineAs<int32_t>};
    case NcclType::kInt64:
      return {8, CombineAs<int64_t>};
    case NcclType::kFloat32:
      return {4, CombineAs<float>};
    case NcclType::kFloat64:
      return {8, CombineAs<double>};
    default:
      return {0, nullptr};
  }
}

struct Job {
  NcclComm* comm;
  std::function<void()> run;
};

// Runs `run` in the stream, after what the stream was given before.
NcclResult Enqueue(const char* name, NcclComm* comm, NcclStream stream, std::function<void()> run) {
  const Plan plan = PlanOf(name);
  const InCall in_call(comm);
  if (plan.action == "fail") return plan.result;
  if (plan.action == "hang") {
    while (!comm->ended) Nap();
    return NcclResult::kSystemError;
  }
  if (comm->ended) return NcclResult::kInvalidUsage;
  if (plan.action == "async") comm->error = static_cast<int>(plan.result);
  if (!plan.action.empty()) {
    run = [comm] {
      while (!comm->ended) Nap();
    };
  }
  ++comm->queued;
  comm->asked = 0;
  auto* job = new Job{comm, std::move(run)};
  auto* to = static_cast<FakeStream*>(stream);
  to->enqueue(
      to,
      [](void* argument) {
        const std::unique_ptr<Job> one(static_cast<Job*>(argument));
        if (!one->comm->ended) one->run();
        --one->comm->queued;
      },
      job);
  return NcclResult::kInProgress;
}

void EndAll(NcclComm* comm) {
  comm->ended = true;
  while (comm->queued > 0) Nap();
}

void Free(NcclComm* comm) {
  if (comm->freed.exchange(true)) Misused("a communicator is ended twice");
  if (comm->meeting != nullptr) munmap(comm->meeting, sizeof(Meeting));
}

}  // namespace

extern "C" {

NcclResult ncclGetVersion(int* version) {
#ifdef HPC_FAKE_NCCL_OLD
  *version = 21805;
#else
  *version = kNcclVersionOfAbi;
#endif
  return NcclResult::kSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case NcclResult::kSuccess:
      return "no error";
    case NcclResult::kUnhandledCudaError:
      return "unhandled cuda error";
    case NcclResult::kSystemError:
      return "unhandled system error";
    case NcclResult::kRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(NcclComm*) { return "as the test wants it"; }

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  if (const Plan plan = PlanOf("ncclGetUniqueId"); plan.action == "fail") return plan.result;
  std::snprintf(id->bytes, sizeof id->bytes, "%sXXXXXX", FakeNcclFiles(getppid()).c_str());
  const int file = mkstemp(id->bytes);
  const bool made = file >= 0 && ftruncate(file, sizeof(Meeting)) == 0;
  if (file >= 0) close(file);
  return made ? NcclResult::kSuccess : NcclResult::kSystemError;
}

NcclResult ncclCommInitRankConfig(NcclComm** made, int ranks, NcclUniqueId id, int rank,
                                  NcclConfig* config) {
  if (config->magic != NcclConfig().magic || config->blocking != 0) Misused("it must not block");
  const Plan plan = PlanOf("ncclCommInitRankConfig");
  if (plan.action == "fail") return plan.result;
  auto* comm = new NcclComm;
  *made = comm;
  comm->rank = rank;
  comm->size = ranks;
  comm->path = id.bytes;
  comm->never_done = plan.action == "never";
  if (plan.action == "async") comm->error = static_cast<int>(plan.result);
  // The file is gone if the others have given up. The rank is then alone in its memory, and nobody
  // ever comes.
  const int file = open(id.bytes, O_RDWR | O_CLOEXEC);
  void* at = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE,
                  MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
  if (file >= 0) close(file);
  if (at == MAP_FAILED) Misused("its memory cannot be mapped");
  comm->meeting = static_cast<Meeting*>(at);
  if (plan.action.empty()) ++comm->meeting->came;
  return NcclResult::kInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm* comm, NcclResult* error) {
  const Plan plan = PlanOf("ncclCommGetAsyncError");
  const InCall in_call(comm);
  if (plan.action == "fail") return plan.result;
  if (plan.action == "hang") {
    while (!comm->ended) Nap();
  }
  if (plan.action == "async") comm->error = static_cast<int>(plan.result);
  if (plan.action == "never") comm->never_done = true;
  const bool all_came = comm->meeting->came >= comm->size;
  if (all_came && comm->rank == 0) unlink(comm->path.c_str());
  if (comm->error != 0) {
    *error = static_cast<NcclResult>(comm->error.load());
  } else {
    const bool settled = all_came && !comm->never_done && ++comm->asked > 1;
    *error = settled ? NcclResult::kSuccess : NcclResult::kInProgress;
  }
  return NcclResult::kSuccess;
}

NcclResult ncclAllReduce(const void* send, void* receive, size_t count, NcclType type, NcclOp op,
                         NcclComm* comm, NcclStream stream) {
  const Kind kind = KindOf(type);
  if (kind.combine == nullptr) return NcclResult::kInvalidArgument;
  return Enqueue("ncclAllReduce", comm, stream, [=] {
    InSlots(count * kind.size, [&](size_t at, size_t bytes) {
      char* const to = static_cast<char*>(receive) + at;
      return Exchange(*comm, static_cast<const char*>(send) + at, bytes,
                      [&](int rank, const char* shown) {
                        if (rank == 0) std::memcpy(to, shown, bytes);
                        if (rank > 0) kind.combine(op, to, shown, bytes);
                      });
    });
  });
}

NcclResult ncclReduceScatter(const void* send, void* receive, size_t count, NcclType type,
                             NcclOp op, NcclComm* comm, NcclStream stream) {
  const Kind kind = KindOf(type);
  if (kind.combine == nullptr) return NcclResult::kInvalidArgument;
  return Enqueue("ncclReduceScatter", comm, stream, [=] {
    const size_t part = count * kind.size;
    for (int owner = 0; owner < comm->size; ++owner) {
      InSlots(part, [&](size_t at, size_t bytes) {
        char* const to = static_cast<char*>(receive) + at;
        return Exchange(*comm, static_cast<const char*>(send) + owner * part + at, bytes,
                        [&](int rank, const char* shown) {
                          if (owner != comm->rank) return;
                          if (rank == 0) std::memcpy(to, shown, bytes);
                          if (rank > 0) kind.combine(op, to, shown, bytes);
                        });
      });
    }
  });
}

NcclResult ncclAllGather(const void* send, void* receive, size_t count, NcclType type,
                         NcclComm* comm, NcclStream stream) {
  const size_t part = count * KindOf(type).size;
  return Enqueue("ncclAllGather", comm, stream, [=] {
    InSlots(part, [&](size_t at, size_t bytes) {
      return Exchange(*comm, static_cast<const char*>(send) + at, bytes,
                      [&](int rank, const char* shown) {
                        std::memcpy(static_cast<char*>(receive) + rank * part + at, shown, bytes);
                      });
    });
  });
}

NcclResult ncclBroadcast(const void* send, void* receive, size_t count, NcclType type, int root,
                         NcclComm* comm, NcclStream stream) {
  return Enqueue("ncclBroadcast", comm, stream, [=] {
    InSlots(count * KindOf(type).size, [&](size_t at, size_t bytes) {
      const bool shows = comm->rank == root;
      return Exchange(*comm, shows ? static_cast<const char*>(send) + at : nullptr, bytes,
                      [&](int rank, const char* shown) {
                        if (rank == root && !shows) {
                          std::memcpy(static_cast<char*>(receive) + at, shown, bytes);
                        }
                      });
    });
  });
}

NcclResult ncclCommFinalize(NcclComm* comm) {
  const Plan plan = PlanOf("ncclCommFinalize");
  const InCall in_call(comm);
  if (plan.action == "fail") return plan.result;
  comm->asked = 0;
  comm->never_done = plan.action == "never";
  if (comm->queued > 0) comm->never_done = true;
  return NcclResult::kInProgress;
}

NcclResult ncclCommDestroy(NcclComm* comm) {
  const Plan plan = PlanOf("ncclCommDestroy");
  {
    const InCall in_call(comm);
    if (plan.action == "fail") return plan.result;
  }
  Free(comm);
  return NcclResult::kSuccess;
}

// It may come from another thread while a call hangs, because that is its purpose.
NcclResult ncclCommAbort(NcclComm* comm) {
  const Plan plan = PlanOf("ncclCommAbort");
  if (comm->freed) Misused("a communicator is ended twice");
  if (plan.action == "fail") return plan.result;
  if (plan.action == "hang") {
    for (;;) Nap();
  }
  EndAll(comm);
  while (comm->called) Nap();
  unlink(comm->path.c_str());
  Free(comm);
  return NcclResult::kSuccess;
}

#ifndef HPC_FAKE_NCCL_OLD
NcclResult ncclCommRevoke(NcclComm* comm, int) {
  if (const Plan plan = PlanOf("ncclCommRevoke"); plan.action == "fail") return plan.result;
  if (comm->freed) Misused("a communicator is revoked after its end");
  comm->ended = true;
  return NcclResult::kInProgress;
}
#endif

}  // extern "C"

}  // namespace hpc::train

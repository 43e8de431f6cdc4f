#include "train/nccl/nccl_channel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/group/reason.h"

namespace hpc::train {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// How often the watch looks, while something is under way and while nothing is.
constexpr Milliseconds kLook{10}, kIdleLook{200};
// A call of NCCL that should return at once is taken to hang after this time.
constexpr Milliseconds kPatience{1000};

// How long the others' GPUs have to take what this one has sent.
constexpr Milliseconds kLeaveTime{10'000};

// Returns whether the result is this rank's own fault, since no other rank can have caused it.
bool IsOwn(NcclResult result) {
  return result == NcclResult::kUnhandledCudaError || result == NcclResult::kInvalidArgument ||
         result == NcclResult::kInvalidUsage;
}

// Works for a device that has failed, too: NCCL shall free what it still can.
std::shared_ptr<void> UseDeviceAnyhow(const DeviceStream& stream) {
  try {
    return stream.UseDevice();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<StreamMark> NcclOperation::mark() {
  std::lock_guard lock(mutex_);
  return mark_;
}

bool NcclOperation::Done() {
  const std::shared_ptr<StreamMark> end = mark();
  return end != nullptr && end->Done();
}

bool NcclOperation::Settled() {
  {
    std::lock_guard lock(mutex_);
    if (followed_) return true;
  }
  try {
    return Done();
  } catch (const std::exception&) {
    return false;
  }
}

bool NcclOperation::LetCurrentFollow(Milliseconds limit) {
  const std::shared_ptr<StreamMark> end = mark();
  if (!end->LetCurrentFollow(limit)) return false;
  std::vector<at::Tensor> free;  // freed after the lock is released
  std::lock_guard lock(mutex_);
  followed_ = true;
  // The tensors may be released early, since the host may be many steps ahead of the device. What
  // is allocated in this stream from here on runs after the operation, so it may use their memory.
  if (end->IsOfCurrent()) free.swap(tensors_);
  return true;
}

NcclChannel::NcclChannel(std::shared_ptr<const NcclLibrary> library,
                         std::unique_ptr<DeviceStream> stream, std::shared_ptr<WatchedGroup> group)
    : library_(std::move(library)), stream_(std::move(stream)), group_(std::move(group)) {}

void NcclChannel::Connect(const Begun& begun, const NcclUniqueId& id) {
  group_->OnVerdict([wish = wish_] {
    std::lock_guard lock(wish->mutex);
    wish->abort = true;
    wish->changed.notify_all();
  });
  // So that its deadline is watched, too.
  const std::shared_ptr<NcclOperation> connecting = Add(begun, {});
  std::lock_guard calls(calls_);
  watch_ = std::thread([self = shared_from_this()] { self->Watch(); });
  const std::shared_ptr<void> device = stream_->UseDevice();
  NcclConfig config;
  config.blocking = 0;
  const NcclResult result =
      library_->comm_init_rank_config(&made_, group_->size(), id, group_->rank(), &config);
  const auto made = [&] { return __atomic_load_n(&made_, __ATOMIC_ACQUIRE); };
  while (result == NcclResult::kInProgress && made() == nullptr && !Dead() &&
         SteadyClock::now() < begun.until()) {
    std::this_thread::sleep_for(kLook);
  }
  comm_ = made();
  Check("ncclCommInitRankConfig", result, begun.until());
  Remove(connecting.get());
}

std::shared_ptr<NcclOperation> NcclChannel::Add(const Begun& begun,
                                                std::vector<at::Tensor> tensors) {
  auto operation = std::make_shared<NcclOperation>(begun, std::move(tensors));
  std::lock_guard lock(wish_->mutex);
  under_way_.push_back(operation);
  last_ = begun;
  wish_->changed.notify_all();
  return operation;
}

std::shared_ptr<NcclOperation> NcclChannel::Start(const Begun& begun, const Call& call,
                                                  std::vector<at::Tensor> tensors) {
  const std::shared_ptr<NcclOperation> operation = Add(begun, std::move(tensors));
  // An error from here on is the end of the group. NCCL may use the tensors until it is aborted, so
  // the operation stays among those that are under way.
  std::lock_guard calls(calls_);
  if (comm_ == nullptr) throw PeerFault("NCCL's communicator is gone");
  const std::shared_ptr<void> device = stream_->UseDevice();
  stream_->FollowCurrent();
  Check(call.name, call.make(comm_, stream_->native()), begun.until());
  std::lock_guard lock(operation->mutex_);
  operation->mark_ = stream_->Mark();
  return operation;
}

void NcclChannel::Remove(const NcclOperation* operation) {
  std::lock_guard lock(wish_->mutex);
  under_way_.erase(std::remove_if(under_way_.begin(), under_way_.end(),
                                  [&](const auto& one) { return one.get() == operation; }),
                   under_way_.end());
  wish_->changed.notify_all();
}

// Waits for the result of a call that is in progress. Must be called with calls_ held.
NcclResult NcclChannel::Settled(SteadyClock::time_point until) {
  // Most calls are done before a nap would end, so it first spins for this time.
  constexpr std::chrono::microseconds kSpin{200};
  const SteadyClock::time_point nap_from = SteadyClock::now() + kSpin;
  std::chrono::microseconds nap{20};
  for (;;) {
    NcclComm* const comm = comm_;
    if (comm == nullptr) throw PeerFault("NCCL's communicator was aborted");
    NcclResult state = NcclResult::kInProgress;
    const NcclResult asked = library_->comm_get_async_error(comm, &state);
    if (asked != NcclResult::kSuccess) return asked;
    if (state != NcclResult::kInProgress) return state;
    if (Dead()) throw PeerFault("it was given up, since the group is dead");
    if (SteadyClock::now() >= until) throw PeerFault("it was still in progress at its deadline");
    if (SteadyClock::now() < nap_from) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, std::chrono::microseconds(2000));
  }
}

void NcclChannel::Check(const char* name, NcclResult result, SteadyClock::time_point until) {
  if (result == NcclResult::kInProgress) result = Settled(until);
  if (result == NcclResult::kSuccess) return;
  const std::string error = Describe(name, result);
  if (IsOwn(result)) throw std::runtime_error(error);
  throw PeerFault(error);
}

std::string NcclChannel::Describe(const char* name, NcclResult result) const {
  const char* const last = library_->get_last_error(comm_);
  return absl::StrCat(
      name, ": ", library_->get_error_string(result),
      last == nullptr || *last == '\0' ? "" : absl::StrCat(" (", OneLine(last), ")"));
}

void NcclChannel::Watch() {
  // An event that is freed in a thread of another device would set CUDA up on that one, too.
  const std::shared_ptr<void> device = UseDeviceAnyhow(*stream_);
  bool abort = false;
  while (!abort) {
    {
      std::unique_lock lock(wish_->mutex);
      const bool idle = under_way_.empty();
      wish_->changed.wait_for(lock, idle ? kIdleLook : kLook, [&] {
        return wish_->abort || wish_->leave || (idle && !under_way_.empty());
      });
      abort = wish_->abort;
      if (abort || wish_->leave) break;
    }
    const std::optional<Fault> fault = Look();
    if (!fault) continue;
    if (fault->own) {
      group_->FailedHere(fault->begun, fault->error);
    } else {
      group_->Failed(fault->begun, fault->error);
    }
    abort = true;
  }
  if (abort) {
    AbortNow();
  } else {
    LeaveInPeace();
  }
  std::lock_guard lock(wish_->mutex);
  under_way_.clear();
  ended_ = true;
  wish_->changed.notify_all();
}

std::optional<NcclChannel::Fault> NcclChannel::Look() {
  std::optional<Fault> fault = LookAtCommunicator();
  return fault ? fault : LookAtOperations();
}

// While a call is being made, its caller asks instead.
std::optional<NcclChannel::Fault> NcclChannel::LookAtCommunicator() {
  std::unique_lock calls(calls_, std::try_to_lock);
  if (!calls.owns_lock() || comm_ == nullptr) return std::nullopt;
  NcclResult state = NcclResult::kSuccess;
  NcclResult asked = library_->comm_get_async_error(comm_, &state);
  if (asked == NcclResult::kSuccess) asked = state;
  if (asked == NcclResult::kSuccess || asked == NcclResult::kInProgress) return std::nullopt;
  std::lock_guard lock(wish_->mutex);
  return Fault{.begun = under_way_.empty() ? last_ : under_way_.front()->begun(),
               .error = Describe("ncclCommGetAsyncError", asked),
               .own = IsOwn(asked)};
}

std::optional<NcclChannel::Fault> NcclChannel::LookAtOperations() {
  std::deque<std::shared_ptr<NcclOperation>> operations, done;
  {
    std::lock_guard lock(wish_->mutex);
    operations = under_way_;
  }
  std::optional<Fault> fault;
  try {
    while (!operations.empty() && operations.front()->Done()) {
      done.push_back(std::move(operations.front()));
      operations.pop_front();
    }
  } catch (const std::exception& error) {
    fault = {operations.front()->begun(), absl::StrCat("the GPU failed: ", ReasonOf(error)), true};
  }
  for (const auto& one : done) Remove(one.get());
  for (const auto& one : operations) {
    if (!fault && SteadyClock::now() >= one->begun().until()) {
      fault = {one->begun(), "it was not done at its deadline", false};
    }
  }
  return fault;
}

void NcclChannel::Close() {
  if (!watch_.joinable()) return;
  std::unique_lock lock(wish_->mutex);
  const std::deque<std::shared_ptr<NcclOperation>> operations = under_way_;
  lock.unlock();
  for (const auto& one : operations) {
    if (one->Settled()) continue;
    group_->Abort(
        absl::StrCat("it left while ", one->begun().collective.ToString(), " was under way"));
    break;
  }
  SteadyClock::time_point last = SteadyClock::now();
  for (const auto& one : operations) last = std::max(last, one->begun().until());
  lock.lock();
  wish_->changed.wait_until(lock, last + 3 * kAnswerTime,
                            [&] { return ended_ || wish_->abort || under_way_.empty(); });
  wish_->leave = true;
  wish_->changed.notify_all();
  // A communicator that cannot even be aborted is left to the end of the process.
  const Milliseconds leave = wish_->abort ? Milliseconds(0) : kLeaveTime;
  const bool ended = wish_->changed.wait_for(lock, leave + 3 * kAnswerTime, [&] { return ended_; });
  lock.unlock();
  if (ended) {
    watch_.join();
  } else {
    watch_.detach();
  }
}

void NcclChannel::LeaveInPeace() {
  std::lock_guard calls(calls_);
  NcclComm* const comm = comm_;
  if (comm == nullptr) return;
  try {
    // Sends what the others still need from here. Destroying alone does not wait for that.
    Check("ncclCommFinalize", library_->comm_finalize(comm), SteadyClock::now() + kLeaveTime);
    Check("ncclCommDestroy", library_->comm_destroy(comm), SteadyClock::now());
  } catch (const std::exception&) {  // whatever failed, nobody waits for this communicator any more
    library_->comm_abort(comm);
  }
  comm_ = nullptr;
}

void NcclChannel::AbortNow() {
  std::unique_lock calls(calls_, std::defer_lock);
  bool free = calls.try_lock_for(kPatience);
  if (!free && library_->comm_revoke != nullptr && comm_ != nullptr) {
    library_->comm_revoke(comm_, 0);
    free = calls.try_lock_for(kPatience);
  }
  NcclComm* const comm = comm_.exchange(nullptr);
  if (free)
    // Aborting may take as long as a rank hangs, but calls do not find the communicator now.
    calls.unlock();
  if (comm != nullptr) library_->comm_abort(comm);
}

}  // namespace hpc::train

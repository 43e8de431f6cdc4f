#include "coordinator/store/names.h"

namespace hpc::coordinator {
namespace {

template <typename E>
struct Word {
  E value;
  absl::string_view word;
};

template <typename E>
struct Words;

template <>
struct Words<RunState> {
  static constexpr Word<RunState> kAll[] = {
      {RunState::kQueued, "queued"},       {RunState::kStarting, "starting"},
      {RunState::kRunning, "running"},     {RunState::kStopping, "stopping"},
      {RunState::kSucceeded, "succeeded"}, {RunState::kFailed, "failed"},
      {RunState::kCancelled, "cancelled"}, {RunState::kTimedOut, "timed-out"},
  };
};

template <>
struct Words<AttemptState> {
  static constexpr Word<AttemptState> kAll[] = {
      {AttemptState::kWaking, "waking"},     {AttemptState::kPreparing, "preparing"},
      {AttemptState::kStarting, "starting"}, {AttemptState::kRunning, "running"},
      {AttemptState::kStopping, "stopping"}, {AttemptState::kEnded, "ended"},
  };
};

template <>
struct Words<AttemptOutcome> {
  static constexpr Word<AttemptOutcome> kAll[] = {
      {AttemptOutcome::kNone, ""},
      {AttemptOutcome::kSucceeded, "succeeded"},
      {AttemptOutcome::kProgramFailed, "program-failed"},
      {AttemptOutcome::kRefused, "refused"},
      {AttemptOutcome::kCancelled, "cancelled"},
      {AttemptOutcome::kTimedOut, "timed-out"},
      {AttemptOutcome::kReclaimed, "reclaimed"},
      {AttemptOutcome::kNodeLost, "node-lost"},
      {AttemptOutcome::kStartFailed, "start-failed"},
      {AttemptOutcome::kGrown, "grown"},
  };
};

template <>
struct Words<CauseKind> {
  static constexpr Word<CauseKind> kAll[] = {
      {CauseKind::kOrdered, "ordered"}, {CauseKind::kCluster, "cluster"},
      {CauseKind::kAsked, "asked"},     {CauseKind::kKilled, "killed"},
      {CauseKind::kOwn, "own"},         {CauseKind::kSilent, "silent"},
      {CauseKind::kOfPeer, "of-peer"},  {CauseKind::kTerminated, "terminated"},
  };
};

template <>
struct Words<protocol::LaunchMode> {
  static constexpr Word<protocol::LaunchMode> kAll[] = {
      {protocol::LaunchMode::kTorchrun, "torchrun"},
      {protocol::LaunchMode::kPerNode, "per-node"},
  };
};

template <>
struct Words<GrowMode> {
  static constexpr Word<GrowMode> kAll[] = {
      {GrowMode::kNever, "never"},
      {GrowMode::kCheckpoint, "checkpoint"},
      {GrowMode::kNow, "now"},
  };
};

template <>
struct Words<protocol::StoreHost> {
  static constexpr Word<protocol::StoreHost> kAll[] = {
      {protocol::StoreHost::kAuto, "auto"},
      {protocol::StoreHost::kWorker, "worker"},
      {protocol::StoreHost::kRank0, "rank0"},
  };
};

template <>
struct Words<protocol::LegacyLocalRank> {
  static constexpr Word<protocol::LegacyLocalRank> kAll[] = {
      {protocol::LegacyLocalRank::kNone, "none"},
      {protocol::LegacyLocalRank::kDash, "dash"},
      {protocol::LegacyLocalRank::kUnderscore, "underscore"},
  };
};

template <>
struct Words<Power> {
  static constexpr Word<Power> kAll[] = {
      {Power::kOn, "on"},
      {Power::kDraining, "draining"},
      {Power::kFallingAsleep, "falling-asleep"},
      {Power::kOff, "off"},
      {Power::kWaking, "waking"},
      {Power::kStopped, "stopped"},
  };
};

template <>
struct Words<protocol::DeviceKind> {
  static constexpr Word<protocol::DeviceKind> kAll[] = {
      {protocol::DeviceKind::kGpu, "gpu"},
      {protocol::DeviceKind::kCpuSlot, "cpu-slot"},
  };
};

template <>
struct Words<Severity> {
  static constexpr Word<Severity> kAll[] = {
      {Severity::kInfo, "info"},
      {Severity::kWarning, "warning"},
      {Severity::kError, "error"},
  };
};

}  // namespace

template <typename E>
absl::string_view ToWord(E value) {
  for (const Word<E>& entry : Words<E>::kAll) {
    if (entry.value == value) return entry.word;
  }
  return "?";
}

template <typename E>
std::optional<E> FromWord(absl::string_view word) {
  for (const Word<E>& entry : Words<E>::kAll) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

#define HPC_INSTANTIATE_WORDS(E)        \
  template absl::string_view ToWord(E); \
  template std::optional<E> FromWord(absl::string_view)

HPC_INSTANTIATE_WORDS(RunState);
HPC_INSTANTIATE_WORDS(AttemptState);
HPC_INSTANTIATE_WORDS(AttemptOutcome);
HPC_INSTANTIATE_WORDS(CauseKind);
HPC_INSTANTIATE_WORDS(protocol::LaunchMode);
HPC_INSTANTIATE_WORDS(GrowMode);
HPC_INSTANTIATE_WORDS(protocol::StoreHost);
HPC_INSTANTIATE_WORDS(protocol::LegacyLocalRank);
HPC_INSTANTIATE_WORDS(Power);
HPC_INSTANTIATE_WORDS(protocol::DeviceKind);
HPC_INSTANTIATE_WORDS(Severity);
#undef HPC_INSTANTIATE_WORDS

}  // namespace hpc::coordinator

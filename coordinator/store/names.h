// Enumerations as the words that the database holds, and back. The words of states, outcomes and
// power are those that clients see (Name() in records.h).
#ifndef HPC_COORDINATOR_STORE_NAMES_H_
#define HPC_COORDINATOR_STORE_NAMES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

template <typename E>
struct Word {
  E value;
  absl::string_view word;
};

// All words of an enumeration, in kAll. Those of the options of a run stand beside their columns,
// in run_rows.cc.
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
      {AttemptOutcome::kShrunk, "shrunk"},
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

template <typename E>
absl::string_view ToWord(E value) {
  for (const Word<E>& entry : Words<E>::kAll) {
    if (entry.value == value) return entry.word;
  }
  return "?";
}

// nullopt: no value of E has this word.
template <typename E>
std::optional<E> FromWord(absl::string_view word) {
  for (const Word<E>& entry : Words<E>::kAll) {
    if (entry.word == word) return entry.value;
  }
  return std::nullopt;
}

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_NAMES_H_

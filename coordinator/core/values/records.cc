#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

bool IsTerminal(RunState state) {
  switch (state) {
    case RunState::kQueued:
    case RunState::kStarting:
    case RunState::kRunning:
    case RunState::kStopping:
      return false;
    case RunState::kSucceeded:
    case RunState::kFailed:
    case RunState::kCancelled:
    case RunState::kTimedOut:
      return true;
  }
  return false;
}

const char* Name(RunState state) {
  switch (state) {
    case RunState::kQueued:
      return "queued";
    case RunState::kStarting:
      return "starting";
    case RunState::kRunning:
      return "running";
    case RunState::kStopping:
      return "stopping";
    case RunState::kSucceeded:
      return "succeeded";
    case RunState::kFailed:
      return "failed";
    case RunState::kCancelled:
      return "cancelled";
    case RunState::kTimedOut:
      return "timed-out";
  }
  return "unknown";
}

const char* Name(AttemptState state) {
  switch (state) {
    case AttemptState::kWaking:
      return "waking";
    case AttemptState::kPreparing:
      return "preparing";
    case AttemptState::kStarting:
      return "starting";
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kStopping:
      return "stopping";
    case AttemptState::kEnded:
      return "ended";
  }
  return "unknown";
}

const char* Name(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kNone:
      return "none";
    case AttemptOutcome::kSucceeded:
      return "succeeded";
    case AttemptOutcome::kProgramFailed:
      return "program-failed";
    case AttemptOutcome::kRefused:
      return "refused";
    case AttemptOutcome::kCancelled:
      return "cancelled";
    case AttemptOutcome::kTimedOut:
      return "timed-out";
    case AttemptOutcome::kReclaimed:
      return "reclaimed";
    case AttemptOutcome::kNodeLost:
      return "node-lost";
    case AttemptOutcome::kStartFailed:
      return "start-failed";
    case AttemptOutcome::kGrown:
      return "grown";
    case AttemptOutcome::kShrunk:
      return "shrunk";
  }
  return "unknown";
}

const char* Name(Power power) {
  switch (power) {
    case Power::kOn:
      return "on";
    case Power::kDraining:
      return "draining";
    case Power::kFallingAsleep:
      return "falling-asleep";
    case Power::kOff:
      return "off";
    case Power::kWaking:
      return "waking";
    case Power::kStopped:
      return "stopped";
  }
  return "unknown";
}

}  // namespace hpc::coordinator

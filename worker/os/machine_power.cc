#include "worker/os/machine_power.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "worker/os/run_command.h"

namespace hpc::worker {

namespace {

// A service manager that takes longer to answer will not kill us soon either.
constexpr absl::Duration kAskLimit = absl::Seconds(2);
// The longest time that is waited for logind's lock to be gone.
constexpr absl::Duration kReleaseLimit = absl::Seconds(2);

}  // namespace

std::string SleepTroubleOf(bool answered, absl::string_view output) {
  output = absl::StripAsciiWhitespace(output);
  if (!answered) return absl::StrCat("logind does not answer: ", output);
  if (absl::StrContains(output, "\"yes\"")) return "";
  return absl::StrCat("logind cannot suspend it: CanSuspend says ", output);
}

bool SaysGoingDown(absl::string_view output) {
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (line == "stopping" || line == "b true") return true;
  }
  return false;
}

PowerCommand::PowerCommand(std::string command, absl::Duration limit)
    : command_(command.empty() ? kLogindSuspend : std::move(command)), limit_(limit) {}

absl::Status PowerCommand::Sleep() {
  {
    const absl::MutexLock lock(&mutex_);
    inhibitor_.Release(kReleaseLimit);
  }
  HPC_ASSIGN_OR_RETURN(CommandResult result, RunCommand({.program = "/bin/sh",
                                                         .argv = {"sh", "-c", command_},
                                                         .env = OwnEnvironment(),
                                                         .limit = limit_}));
  if (result.ok()) return absl::OkStatus();
  const std::string words = result.LastWords();
  return absl::FailedPreconditionError(absl::StrCat("the power command \"", command_,
                                                    "\" failed with ", result.HowItEnded(),
                                                    words.empty() ? "" : ": ", words));
}

void PowerCommand::KeepAwake(bool awake) {
  // Sleep waits a while with the mutex. Whoever keeps the machine awake says so again soon.
  if (!mutex_.TryLock()) return;
  awake ? inhibitor_.Hold() : inhibitor_.Release(absl::ZeroDuration());
  mutex_.Unlock();
}

std::string PowerCommand::SleepTrouble() const {
  if (command_ != kLogindSuspend) return "";
  const absl::StatusOr<CommandResult> result = RunCommand({.program = "/bin/sh",
                                                           .argv = {"sh", "-c", kAskLogind},
                                                           .env = OwnEnvironment(),
                                                           .limit = kAskLimit});
  if (!result.ok()) return SleepTroubleOf(false, result.status().message());
  return SleepTroubleOf(result->ok(), result->ok() ? result->output : result->LastWords());
}

bool PowerCommand::GoingDown() {
  const absl::StatusOr<CommandResult> result = RunCommand({.program = "/bin/sh",
                                                           .argv = {"sh", "-c", kAskSystem},
                                                           .env = OwnEnvironment(),
                                                           .limit = kAskLimit});
  return result.ok() && SaysGoingDown(result->output);
}

}  // namespace hpc::worker

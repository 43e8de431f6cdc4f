#include "worker/runtime/prepare_plan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/core/command_check.h"
#include "worker/runtime/attempt_files.h"

namespace hpc::worker {
namespace {

// Output, metrics and journals need some room.
constexpr uint64_t kMinFreeBytes = 64 << 20;

FileKind LookAtFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return FileKind::kMissing;
  if (S_ISDIR(info.st_mode)) return FileKind::kDirectory;
  return access(path.c_str(), X_OK) == 0 ? FileKind::kExecutable : FileKind::kNotExecutable;
}

// A refusal like any other: only of the command itself is said whether it is missing or closed.
absl::Status CheckWorkdir(const std::string& node, const std::string& workdir) {
  const auto refuse = [&](absl::string_view problem) {
    return absl::FailedPreconditionError(
        absl::StrCat("working directory ", workdir, " ", problem, " on ", node));
  };
  struct stat info;
  if (stat(workdir.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return refuse("does not exist");
    return refuse(absl::StrCat("cannot be reached (", strerror(errno), ")"));
  }
  if (!S_ISDIR(info.st_mode)) return refuse("is not a directory");
  if (access(workdir.c_str(), X_OK) != 0) return refuse("may not be entered");
  return absl::OkStatus();
}

absl::Status CheckDisk(const std::string& node, const std::string& state_dir) {
  struct statvfs info;
  if (statvfs(state_dir.c_str(), &info) != 0) return ErrnoStatus(errno, "statvfs " + state_dir);
  const uint64_t available = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  if (available >= kMinFreeBytes) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(node, ": only ", HumanBytes(available),
                                             " are free in ", state_dir, "; ",
                                             HumanBytes(kMinFreeBytes), " are needed"));
}

// The kernel takes a quarter of the stack limit, and at least 128 KiB.
size_t ExecLimit() {
  const int64_t limit = sysconf(_SC_ARG_MAX);
  return limit > 0 ? static_cast<size_t>(limit) : 128 << 10;
}

absl::Status Fill(const Prepare& prepare, const PrepareContext& context, PreparePlan* plan) {
  const LocalFacts& facts = context.facts;
  HPC_RETURN_IF_ERROR(CheckWorkdir(facts.node, prepare.workdir));
  HPC_RETURN_IF_ERROR(CheckDisk(facts.node, context.state_dir));
  plan->ranks = MakeRankPrograms(prepare, facts);
  if (plan->ranks.ranks.empty() || prepare.command.empty()) {
    return absl::FailedPreconditionError(facts.node + ": there is nothing to run");
  }
  const RankProgram& first = plan->ranks.ranks.front();
  HPC_ASSIGN_OR_RETURN(plan->program,
                       ResolveCommand(facts.node, prepare.command[0], prepare.workdir,
                                      GetVariable(first.env, "PATH"), &LookAtFile));
  HPC_RETURN_IF_ERROR(CheckExecSize(facts.node, first.argv, first.env, ExecLimit()));
  if (auto python = context.python->Probe(plan->program, first.env); python.ok()) {
    plan->python = *std::move(python);
  } else {
    // It only describes; whether the program runs is for the program to show.
    LogWarning("the run's Python could not be asked what it has installed",
               {{"attempt", prepare.ref.ToString()}, {"error", python.status().ToString()}});
  }
  return MakeAttemptFiles(context.state_dir, prepare);
}

}  // namespace

PreparePlan MakePreparePlan(const Prepare& prepare, const PrepareContext& context) {
  PreparePlan plan;
  plan.status = Fill(prepare, context, &plan);
  return plan;
}

}  // namespace hpc::worker

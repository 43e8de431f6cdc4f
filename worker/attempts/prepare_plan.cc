#include "worker/attempts/prepare_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "worker/attempts/attempt_files.h"
#include "worker/core/command_check.h"

namespace hpc::worker {
namespace {

// Output, metrics and journals need this much room.
constexpr uint64_t kMinFreeBytes = 64 << 20;

// Asks with the calling thread's rights, which may differ from the process's.
bool MayExecute(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

bool IsHome(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
}

FileFacts LookAtFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return {errno == EACCES ? FileKind::kHidden : FileKind::kMissing, {}};
  }
  if (S_ISDIR(info.st_mode)) return {FileKind::kDirectory, {}};
  if (!S_ISREG(info.st_mode) || !MayExecute(path)) return {FileKind::kNotExecutable, {}};
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string head(kHeadBytes, '\0');
  const ssize_t n = fd.ok() ? read(fd.get(), head.data(), head.size()) : -1;
  if (n < 0) return {FileKind::kExecutable, {}};
  head.resize(static_cast<size_t>(n));
  return {FileKind::kExecutable, std::move(head)};
}

// The first folder on the way to `path`, or `path` itself, that the caller may not enter; "" if
// there is none.
std::string ClosedFolder(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (!MayExecute(folder)) return folder;
    if (end == std::string::npos) return "";
  }
}

// What to do about a folder that ranks may not enter. Homes are closed to others on most systems.
std::string HowToOpen(const std::string& account, const std::string& folder) {
  const std::string open = absl::StrCat("'chmod o+x ", folder, "' there opens it");
  const char* const other = "--workdir names another working directory";
  if (account.empty()) return absl::StrCat(open, ", or ", other);
  return absl::StrCat(open, ", or its worker runs your ranks as you (--accounts, in ",
                      "docs/SECURITY.md), or ", other);
}

// Any error is an ordinary refusal. Only for the command itself does the refusal say whether it is
// missing or cannot be executed.
absl::Status CheckWorkdir(const std::string& node, const std::string& account,
                          const std::string& workdir) {
  const auto refuse = [&](absl::string_view problem, absl::string_view cure) {
    return absl::FailedPreconditionError(
        absl::StrCat("working directory ", workdir, " ", problem, " on ", node, ": ", cure));
  };
  const char* const name = "name one that every node has with --workdir";
  struct stat info;
  const int error = stat(workdir.c_str(), &info) == 0 ? 0 : errno;
  if (error == ENOENT || error == ENOTDIR) return refuse("does not exist", name);
  if (error == 0 && !S_ISDIR(info.st_mode)) return refuse("is not a directory", name);
  if (const std::string closed = ClosedFolder(workdir); !closed.empty()) {
    const std::string why = closed == workdir ? "" : absl::StrCat(", since ", closed, " is closed");
    return refuse(absl::StrCat("may not be entered", ByAccount(account), why),
                  HowToOpen(account, closed));
  }
  if (error == 0) return absl::OkStatus();
  return refuse(absl::StrCat("cannot be reached", ByAccount(account), " (", strerror(error), ")"),
                name);
}

absl::Status CheckDisk(const std::string& node, const std::string& state_dir) {
  struct statvfs info;
  if (statvfs(state_dir.c_str(), &info) != 0) {
    return OfThisNode(node, ErrnoStatus(errno, "statvfs " + state_dir));
  }
  const uint64_t available = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  if (available >= kMinFreeBytes) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(node, ": only ", HumanBytes(available),
                                             " are free in ", state_dir, "; ",
                                             HumanBytes(kMinFreeBytes), " are needed"));
}

// For arguments the kernel allows a quarter of the stack limit, and at least 128 KiB.
size_t ExecLimit() {
  const int64_t limit = sysconf(_SC_ARG_MAX);
  return limit > 0 ? static_cast<size_t>(limit) : 128 << 10;
}

// An interpreter that the run chose is started through this launcher, so that it does not run with
// our rights, and leaves nothing behind.
std::vector<std::string> Launcher(const PrepareContext& context, const Account* account) {
  if (account == nullptr) return {context.supervisor_program, "--run"};
  return {context.supervisor_program, "--as", ToText(account->ids), "--run"};
}

absl::Status FindProgram(const protocol::Prepare& prepare, const LocalFacts& facts,
                         const Account* account, PreparePlan* plan) {
  const std::string name = account == nullptr ? "" : account->name;
  HPC_RETURN_IF_ERROR(CheckWorkdir(facts.node, name, prepare.workdir));
  HPC_ASSIGN_OR_RETURN(
      plan->program,
      ResolveCommand(facts.node, name, prepare.command[0], prepare.workdir,
                     GetVariable(plan->ranks.ranks.front().env, "PATH"), &LookAtFile));
  return absl::OkStatus();
}

// What the ranks would have as HOME; "" where they have none, or the user says.
std::string HomeOf(const protocol::Prepare& prepare, const LocalFacts& facts) {
  for (const auto& [key, value] : prepare.env) {
    if (key == "HOME") return "";
  }
  return facts.account ? facts.account->home : GetVariable(facts.own_env, "HOME");
}

// Many programs end where they cannot write to HOME. A home of the attempt goes with it.
void ReplaceBadHome(const protocol::Prepare& prepare, LocalFacts* facts) {
  const std::string home = HomeOf(prepare, *facts);
  if (!home.empty() && !IsHome(home)) facts->home = HomeDir(facts->attempt_dir);
}

// Decides what the ranks run and which home they have. Only what their account may reach counts.
absl::Status PlanRanks(const protocol::Prepare& prepare, const Account* account, LocalFacts* facts,
                       PreparePlan* plan) {
  const FileRights rights(account == nullptr ? nullptr : &account->ids);
  ReplaceBadHome(prepare, facts);
  plan->ranks = MakeRankPrograms(prepare, *facts);
  if (plan->ranks.ranks.empty() || prepare.command.empty()) {
    return absl::FailedPreconditionError(facts->node + ": there is nothing to run");
  }
  return FindProgram(prepare, *facts, account, plan);
}

// A home that was made for the attempt is empty, so the interpreter answers as if there were none.
// Therefore the home of before is asked about: that is the same for each attempt, and what the
// interpreter once answered is remembered.
std::vector<std::string> EnvironmentToAsk(const protocol::Prepare& prepare, const LocalFacts& facts,
                                          std::vector<std::string> env) {
  if (facts.home.empty()) return env;
  std::replace(env.begin(), env.end(), "HOME=" + facts.home, "HOME=" + HomeOf(prepare, facts));
  return env;
}

void AskPython(const protocol::Prepare& prepare, const PrepareContext& context,
               const Account* account, const std::vector<std::string>& env, PreparePlan* plan) {
  auto python = context.python->Probe(plan->program, env, Launcher(context, account));
  if (python.ok()) {
    plan->python = *std::move(python);
    return;
  }
  // The answer only describes the interpreter. Whether the program runs is shown by running it.
  LogWarning("the run's Python could not be asked what it has installed",
             {{"attempt", prepare.ref.ToString()}, {"error", python.status().ToString()}});
}

absl::StatusOr<const Account*> FindAccountOf(const protocol::Prepare& prepare,
                                             const PrepareContext& context) {
  auto account = context.accounts->Of(prepare.user);
  if (account.ok()) return account;
  return absl::FailedPreconditionError(
      absl::StrCat(context.facts.node, ": ", account.status().message()));
}

absl::Status Fill(const protocol::Prepare& prepare, const PrepareContext& context,
                  PreparePlan* plan) {
  LocalFacts facts = context.facts;
  HPC_ASSIGN_OR_RETURN(const Account* account, FindAccountOf(prepare, context));
  if (account != nullptr) {
    plan->account = account->ids;
    facts.account = RankAccount{account->name, account->home, account->shell};
  }
  const AccountIds* ids = plan->account ? &*plan->account : nullptr;
  HPC_RETURN_IF_ERROR(CheckDisk(facts.node, context.state_dir));
  HPC_RETURN_IF_ERROR(PlanRanks(prepare, account, &facts, plan));
  const RankProgram& first = plan->ranks.ranks.front();
  HPC_RETURN_IF_ERROR(CheckExecSize(facts.node, first.argv, first.env, ExecLimit()));
  AskPython(prepare, context, account, EnvironmentToAsk(prepare, facts, first.env), plan);
  HPC_RETURN_IF_ERROR(
      OfThisNode(facts.node, MakeAttemptFiles(context.state_dir, prepare, ids, context.spares.get(),
                                              context.record, /*home=*/!facts.home.empty())));
  if (prepare.restart_count > 0) {
    plan->checkpoints = ListCheckpoints(context.state_dir, prepare, ids, absl::Now());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OfThisNode(const std::string& node, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::UnavailableError(absl::StrCat(node, ": ", std::string(status.message())));
}

PreparePlan MakePreparePlan(const protocol::Prepare& prepare, const PrepareContext& context) {
  PreparePlan plan;
  plan.status = Fill(prepare, context, &plan);
  return plan;
}

}  // namespace hpc::worker

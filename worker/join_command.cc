#include "worker/join_command.h"

#include "absl/strings/str_cat.h"
#include "common/files/state_dir.h"
#include "common/pki/membership.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "member/admission.h"
#include "member/join.h"
#include "worker/attempts/former_cluster.h"
#include "worker/coordinator_way.h"

namespace hpc::worker {
namespace {

// Starts the worker, or tells the user how to start it.
std::string Start(const CommandLine& command, const std::function<absl::Status()>& start_unit) {
  if (!command.usual_state_dir) {
    return absl::StrCat("; start its worker: hpc-worker --state-dir ", command.state_dir);
  }
  const absl::Status started = start_unit();
  if (started.ok()) return ", and its worker runs: hpc-worker status";
  if (absl::IsNotFound(started)) return "; start its worker: hpc-worker";
  return absl::StrCat("; its worker was not started: ", started.message());
}

absl::Status WithWayOut(const absl::Status& status, const CommandLine& command) {
  if (!absl::IsPermissionDenied(status)) return status;
  return absl::PermissionDeniedError(absl::StrCat(
      status.message(), command.usual_state_dir
                            ? ". Run it as root (sudo), or keep the worker's files elsewhere with "
                              "--state-dir"
                            : ""));
}

// The directory is most likely used by the worker of the membership that is here.
absl::Status WorkerRuns(const std::string& identity, const absl::Status& in_use) {
  const absl::Status member = member::AlreadyMember(identity);
  if (member.ok()) return in_use;
  return absl::Status(member.code(),
                      absl::StrCat(member.message(), ", and stop its worker first (systemctl stop ",
                                   "hpc-worker): ", in_use.message()));
}

struct Done {
  member::Joined joined;
  // Where the files that runs of the former cluster left are now; "" if there are none.
  absl::StatusOr<std::string> set_aside = "";
};

// The cluster that this PC is a member of; "" if it is in none.
std::string ClusterOf(const std::string& identity) {
  const absl::StatusOr<pki::Membership> membership = pki::LoadMembership(identity);
  if (!membership.ok()) return "";
  const absl::StatusOr<pki::Holder> holder = pki::HolderOf(*membership);
  return holder.ok() ? holder->identity.cluster : "";
}

// The state directory is locked only while this runs, since a worker that is started then needs it.
absl::StatusOr<Done> Join(const CommandLine& command, const pki::JoinToken& token, absl::Time now) {
  const std::string name = command.name.empty() ? HostName() : command.name;
  const std::string identity = absl::StrCat(command.state_dir, "/", kIdentityFolder);
  // This is checked before the lock. A PC that is a member already most likely has a running
  // worker, which holds the lock but is not the problem.
  HPC_RETURN_IF_ERROR(member::CheckMayReplace(identity, token, name, command.replace));
  const absl::StatusOr<StateDir> state_dir = StateDir::Open(command.state_dir, "worker");
  if (absl::IsAlreadyExists(state_dir.status())) return WorkerRuns(identity, state_dir.status());
  if (!state_dir.ok()) return WithWayOut(state_dir.status(), command);
  const std::string former = ClusterOf(identity);
  Done done;
  HPC_ASSIGN_OR_RETURN(done.joined, member::Join(token, name, state_dir->File(kIdentityFolder),
                                                 command.replace, now));
  if (!former.empty() && former != done.joined.holder.identity.cluster) {
    done.set_aside = SetAsideFormerCluster(state_dir->path(), former);
  }
  return done;
}

std::string AboutFormerCluster(const CommandLine& command,
                               const absl::StatusOr<std::string>& set_aside) {
  constexpr absl::string_view kLeft = "what runs of its former cluster left here is in ";
  if (!set_aside.ok()) {
    return absl::StrCat(kLeft, "the way of new ones: ", set_aside.status().message(), ". Move ",
                        command.state_dir, "/runs and ", command.state_dir, "/attempts away\n");
  }
  return set_aside->empty() ? "" : absl::StrCat(kLeft, *set_aside, "\n");
}

}  // namespace

absl::StatusOr<std::string> RunJoinCommand(const CommandLine& command, absl::Time now,
                                           const std::function<absl::Status()>& start_unit) {
  HPC_ASSIGN_OR_RETURN(const pki::JoinToken token,
                       member::ReadToken(command.token, member::Door::kWorker));
  HPC_ASSIGN_OR_RETURN(const Done done, Join(command, token, now));
  const member::Joined& joined = done.joined;
  std::string said = AboutFormerCluster(command, done.set_aside);
  for (const std::string& passed_over : joined.passed_over) {
    absl::StrAppend(&said, "passed over ", passed_over, "\n");
  }
  return absl::StrCat(said, joined.holder.identity.name, " is a member of the cluster at ",
                      joined.coordinator.ToString(), Start(command, start_unit), "\n");
}

}  // namespace hpc::worker

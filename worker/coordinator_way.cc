#include "worker/coordinator_way.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

absl::Status CheckName(const std::string& name) {
  const absl::Status status = CheckNodeName(name);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(status.message(), "; choose another with --name"));
}

absl::Status NotAMember(const CommandLine& command) {
  return absl::FailedPreconditionError(absl::StrCat(
      "this PC is not a member of a cluster: make a token on the coordinator's machine (hpcctl "
      "token create) and run 'hpc-worker join TOKEN",
      command.usual_state_dir ? "" : " --state-dir " + command.state_dir, "' here"));
}

absl::StatusOr<Way> AsMember(const CommandLine& command, const pki::Membership& membership) {
  HPC_ASSIGN_OR_RETURN(const pki::Holder holder, pki::HolderOf(membership));
  if (holder.identity.role != pki::Role::kWorker) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the certificate in ", command.state_dir, "/", kIdentityFolder, " is for ",
        holder.identity.ToString(), ", not for a worker; join again with a token and --replace"));
  }
  const std::string& node = holder.identity.name;
  if (!command.name.empty() && command.name != node) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--name ", command.name, ": this PC is a member as ", node, ". To rename it, join with a ",
        "new token: hpc-worker join TOKEN --name ", command.name, " --replace"));
  }
  std::vector<Endpoint> addresses = membership.addresses;
  if (command.coordinator) {
    // The option may name an address before the coordinator moves there, so it is only put first.
    addresses.erase(std::remove(addresses.begin(), addresses.end(), *command.coordinator),
                    addresses.end());
    addresses.insert(addresses.begin(), *command.coordinator);
  }
  if (addresses.empty()) {
    return absl::FailedPreconditionError(
        "the membership holds no address of the coordinator: name it with --coordinator");
  }
  return Way{node, std::move(addresses), member::Security::Of(membership)};
}

}  // namespace

absl::StatusOr<Way> ChooseWay(const CommandLine& command,
                              const absl::StatusOr<pki::Membership>& membership) {
  if (command.coordinator && (command.coordinator->is_unix || command.insecure)) {
    const std::string node = command.name.empty() ? HostName() : command.name;
    HPC_RETURN_IF_ERROR(CheckName(node));
    return Way{node, {*command.coordinator}, member::Security::PlainText()};
  }
  if (absl::IsNotFound(membership.status())) return NotAMember(command);
  HPC_RETURN_IF_ERROR(membership.status());
  return AsMember(command, *membership);
}

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "";
  const std::string full = name;
  return full.substr(0, full.find('.'));
}

}  // namespace hpc::worker

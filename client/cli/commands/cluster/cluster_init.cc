// hpcctl cluster init: make a new cluster's authority, on its coordinator's machine.
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/input/caller.h"
#include "client/cli/input/usage_error.h"
#include "common/files/coordinator_paths.h"
#include "common/files/state_dir.h"
#include "common/pki/founder.h"
#include "common/pki/keyring.h"
#include "common/pki/membership.h"
#include "common/pki/tls/lean_provider.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

// Returns the name of the account that makes the cluster, which becomes its first admin. It is
// "admin" where the account's name is not valid as a user's.
std::string FounderName() {
  const std::string account = AccountName();
  return CheckNodeName(account).ok() ? account : "admin";
}

class ClusterInitCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Works on files, before hpc-coordinator is started, and as the account that it will run\n"
        "as. Whoever makes the cluster is its first admin, with a certificate in ~/.config/hpc.\n"
        "The authority's key signs every member's certificate: who has it can be anybody. Lost\n"
        "without a copy, every member must join a new cluster. It may be kept apart from the "
        "other\n"
        "files, or behind a passphrase; hpc-coordinator is then told the same two options.");
    options->Text("--state-dir", "DIR", &state_dir_,
                  "the coordinator's (default: as it has itself)");
    options->Text("--authority-key", "FILE", &place_.authority_key,
                  "where to put the private key (default: in the state directory)");
    options->Text("--passphrase-file", "FILE", &passphrase_file_,
                  "encrypt the key with the passphrase in this file");
    options->Example("hpcctl cluster init");
    options->Example(
        "hpcctl cluster init --authority-key /mnt/usb/hpc.key --passphrase-file /root/pass");
  }

  absl::StatusOr<int> Run(Session* session) override {
    // Keys are made here, so the machine's configuration of OpenSSL must not matter.
    pki::UseLeanProvider();
    const std::string standard =
        DefaultCoordinatorPaths(geteuid(), session->environment()).state_dir;
    if (state_dir_.empty()) state_dir_ = standard;
    if (!passphrase_file_.empty()) {
      const absl::StatusOr<std::string> passphrase = pki::ReadPassphrase(passphrase_file_);
      if (!passphrase.ok()) return UsageError(absl::string_view(passphrase.status().message()));
      place_.passphrase = *passphrase;
    }
    HPC_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(state_dir_, "coordinator"));
    place_.folder = state_dir.File(pki::kKeyringFolder);
    HPC_ASSIGN_OR_RETURN(const pki::Keyring keyring, pki::Keyring::Create(place_, absl::Now()));
    session->out().Write(
        absl::StrCat("cluster ", keyring.cluster(), " has an authority, in ", place_.folder, "\n"));
    HPC_RETURN_IF_ERROR(AddFounder(keyring, session));
    session->Notice(NextStep(state_dir_ != standard));
    return kExitOk;
  }

 private:
  // A membership of another cluster stays as it is. At the socket of the new cluster's coordinator
  // the account is an admin even without a membership.
  absl::Status AddFounder(const pki::Keyring& keyring, Session* session) const {
    const std::string folder = IdentityFolder(session->environment());
    if (!absl::IsNotFound(pki::LoadMembership(folder).status())) {
      session->Notice(absl::StrCat("the membership in ", folder,
                                   " stays as it is: you are an admin of the new cluster on this "
                                   "machine only"));
      return absl::OkStatus();
    }
    HPC_ASSIGN_OR_RETURN(const pki::Membership founder,
                         pki::MakeFounder(keyring, place_.folder, FounderName(), absl::Now()));
    HPC_RETURN_IF_ERROR(pki::SaveMembership(folder, founder));
    session->out().Write(absl::StrCat("you are ", pki::HolderOf(founder)->identity.ToString(),
                                      ", with a certificate in ", folder, "\n"));
    return absl::OkStatus();
  }

  std::string NextStep(bool name_state_dir) const {
    return absl::StrCat("start hpc-coordinator", name_state_dir ? " --state-dir " + state_dir_ : "",
                        " --listen ADDR:7077",
                        place_.authority_key.empty() ? "" : " --authority-key ",
                        place_.authority_key, passphrase_file_.empty() ? "" : " --passphrase-file ",
                        passphrase_file_, ", then let PCs and people in with 'hpcctl ",
                        name_state_dir ? "--coordinator ADDR:7077 " : "", "token create'");
  }

  std::string state_dir_, passphrase_file_;
  pki::KeyringPlace place_;
};

}  // namespace

std::unique_ptr<Command> MakeClusterInit() { return std::make_unique<ClusterInitCommand>(); }

}  // namespace hpc::client

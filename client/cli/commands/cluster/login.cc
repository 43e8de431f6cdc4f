// hpcctl login: become a member of a cluster from this machine.
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/input/caller.h"
#include "client/cli/input/usage_error.h"
#include "common/pki/tls/lean_provider.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "member/admission.h"
#include "member/join.h"

namespace hpc::client {
namespace {

class LoginCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "The token comes from 'hpcctl token create --role user' (or admin) on a machine that is\n"
        "in already. A key is made here and never leaves this machine; the coordinator signs it.\n"
        "From then on hpcctl finds the coordinator by itself, and renews what it got in time.\n"
        "A PC that is to run training is made a member by 'hpc-worker join' instead.");
    options->Argument("TOKEN", &token_, "the line that 'hpcctl token create' printed");
    options->Text("--name", "NAME", &name_, "your name in the cluster (default: your account's)");
    options->Flag("--replace", &replace_,
                  "give up the membership that is here, of another name or cluster");
    options->Example("hpcctl login hpc1-dQmB4Jx8...");
  }

  absl::StatusOr<int> Run(Session* session) override {
    // Keys are made here, so the machine's configuration of OpenSSL must not matter.
    pki::UseLeanProvider();
    const absl::StatusOr<pki::JoinToken> token = member::ReadToken(token_, member::Door::kClient);
    if (!token.ok()) return UsageError(absl::string_view(token.status().message()));
    const std::string name = name_.empty() ? AccountName() : name_;
    if (const absl::Status valid = CheckNodeName(name); !valid.ok()) {
      return UsageError(absl::StrCat(valid.message(), ". Choose another with --name."));
    }
    HPC_ASSIGN_OR_RETURN(
        const member::Joined joined,
        member::Join(*token, name, IdentityFolder(session->environment()), replace_, absl::Now()));
    for (const std::string& one : joined.passed_over) session->Notice("passed over " + one);
    session->out().Write(absl::StrCat("you are ", joined.holder.identity.ToString(),
                                      " of the cluster at ", joined.coordinator.ToString(),
                                      "; see what it does: hpcctl status\n"));
    return kExitOk;
  }

 private:
  std::string token_, name_;
  bool replace_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeLogin() { return std::make_unique<LoginCommand>(); }

}  // namespace hpc::client

// hpcctl cert revoke: shut a member out at once.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

class CertRevokeCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "All certificates of the member are void and its open connections end at once; the ranks\n"
        "of a PC that is shut out are stopped by its worker after stop-after-disconnect. To let\n"
        "it in again, make a token for its name: 'hpcctl token create --name NAME'.");
    options->Argument("WHO", &subject_, "a member's name, 'worker/pc1', or a certificate's serial");
    options->Text("--reason", "TEXT", &reason_, "shown to whoever is refused");
    options->Example("hpcctl cert revoke worker/pc3 --reason stolen");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::RevokeCertificateResponse revoked,
                         client->RevokeCertificate(subject_, reason_));
    session->out().Write(absl::StrCat(
        subject_, " is shut out: ", Count(revoked.certificates(), "certificate"),
        revoked.tokens() > 0 ? absl::StrCat(" and ", Count(revoked.tokens(), "unused token")) : "",
        " revoked\n"));
    return kExitOk;
  }

 private:
  std::string subject_, reason_;
};

}  // namespace

std::unique_ptr<Command> MakeCertRevoke() { return std::make_unique<CertRevokeCommand>(); }

}  // namespace hpc::client

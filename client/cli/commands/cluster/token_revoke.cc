// hpcctl token revoke: make a token void.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class TokenRevokeCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Nobody joins with it any more. Who has joined already stays in: 'hpcctl cert revoke'\n"
        "shuts a member out.");
    options->Argument("TOKEN", &id_, "its id, as 'hpcctl token list' shows it");
    options->Example("hpcctl token revoke 3fa2b81c90de");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_RETURN_IF_ERROR(client->RevokeToken(id_));
    session->out().Write(absl::StrCat("token ", id_, " is void\n"));
    return kExitOk;
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<Command> MakeTokenRevoke() { return std::make_unique<TokenRevokeCommand>(); }

}  // namespace hpc::client

// hpcctl cluster rotate-ca: replace the cluster's authority by a new one.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

class ClusterRotateCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "The coordinator makes a new key. While the old one is still trusted, members renew their\n"
        "certificates by themselves: a worker within ten minutes, people behind their next\n"
        "command. Who does not connect in that time must join again. Tokens made before are void.");
    options->Duration("--keep-old", "30d", &keep_old_,
                      "for how long the old one stays trusted (default 30d)");
    options->Example("hpcctl cluster rotate-ca --keep-old 60d");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::RotateAuthorityResponse response,
                         client->RotateAuthority(keep_old_));
    session->out().Write(
        absl::StrCat("there is a new authority; the old one is trusted until ",
                     HumanTime(absl::FromUnixMicros(response.old_trusted_until_us())), "\n"));
    return kExitOk;
  }

 private:
  absl::Duration keep_old_ = absl::Hours(24 * 30);
};

}  // namespace

std::unique_ptr<Command> MakeClusterRotate() { return std::make_unique<ClusterRotateCommand>(); }

}  // namespace hpc::client

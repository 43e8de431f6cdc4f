// hpcctl whoami: show as whom the coordinator knows the caller.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/record.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class WhoamiCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl whoami");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::WhoAmIResponse me, client->WhoAmI());
    Record record(FormFor(session->out(), json_, Session::NowUs(0)));
    record.Text("name", "Name", me.name());
    record.Text("role", "Role", me.role());
    record.Text("by", "Known by", me.by());
    record.Time("expires_at", "Until", me.expires_at_us());
    record.Text("coordinator", "Coordinator", client->endpoint().ToString());
    session->out().Write(record.Finish());
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWhoami() { return std::make_unique<WhoamiCommand>(); }

}  // namespace hpc::client

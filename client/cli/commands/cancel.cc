// hpcctl cancel: end a run.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class CancelCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Its processes get SIGTERM, and SIGKILL after the run's grace. Answers once the wish is "
        "on\n"
        "disk; 'hpcctl wait' waits for the end. A run that is already over is left as it is.");
    options->RunArgument(&run_);
    options->Example("hpcctl cancel 12");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    const absl::Status status = client->Cancel(run_);
    if (absl::IsFailedPrecondition(status)) {
      session->Notice(absl::string_view(status.message()));  // what was wished for is so already
      return kExitOk;
    }
    HPC_RETURN_IF_ERROR(status);
    session->out().Write(absl::StrCat("run ", run_, " is being cancelled\n"));
    return kExitOk;
  }

 private:
  int64_t run_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeCancel() { return std::make_unique<CancelCommand>(); }

}  // namespace hpc::client

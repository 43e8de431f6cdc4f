// hpcctl version.
#include "common/version.h"

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"

namespace hpc::client {
namespace {

class VersionCommand : public Command {
 public:
  void Declare(Options* options) override { options->Example("hpcctl version"); }

  absl::StatusOr<int> Run(Session* session) override {
    session->out().Write(absl::StrCat("hpcctl ", Version(), "\n"));
    return kExitOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersion() { return std::make_unique<VersionCommand>(); }

}  // namespace hpc::client

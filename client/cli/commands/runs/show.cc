// hpcctl show: everything about one run.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/show/run_sections.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class ShowCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "What was asked for, every attempt with its reasons, its nodes and what they ran it with,\n"
        "its processes and how they ended, metrics, sizes of logs and the state of the code.");
    options->RunArgument(&named_);
    options->Flag("--json", &json_, "print JSON, with the variables");
    options->Flag("--diff", &diff_, "print the uncommitted changes the run was started with");
    options->Flag("--env", &env_, "list the variables that its ranks were given");
    options->Example("hpcctl show 12");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(run_, FindRun(client, named_));
    HPC_ASSIGN_OR_RETURN(const v1::RunDetail detail, client->GetRun(run_));
    if (diff_) {
      session->out().Write(detail.spec().code().diff());
      return kExitOk;
    }
    if (env_ && !json_) {
      const std::string story = EnvironmentStory(detail);
      session->out().Write(story);
      if (story.empty()) {
        session->Notice(absl::StrCat("run ", run_, " has none: no node has prepared its ranks"));
      }
      return kExitOk;
    }
    session->out().Write(
        RunStory(detail, FormFor(session->out(), json_, Session::NowUs(detail.now_us()))));
    return kExitOk;
  }

 private:
  std::string named_;
  int64_t run_ = 0;
  bool json_ = false;
  bool diff_ = false;
  bool env_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<ShowCommand>(); }

}  // namespace hpc::client

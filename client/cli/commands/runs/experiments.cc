// hpcctl experiments: list the named sets of runs.
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/listing.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class ExperimentsCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl experiments");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::ListExperimentsResponse response, client->ListExperiments());
    Listing listing({{"name", "EXPERIMENT"},
                     {"runs", "RUNS"},
                     {"created_at", "CREATED"},
                     {"last_run_at", "LAST RUN"}},
                    FormFor(session->out(), json_, Session::NowUs(response.now_us())));
    for (const v1::Experiment& experiment : response.experiments()) {
      listing.Text(experiment.name())
          .Integer(experiment.runs())
          .Time(experiment.created_at_us())
          .Time(experiment.last_run_at_us())
          .EndRow();
    }
    session->Print(&listing, "no experiments. 'hpcctl run --experiment NAME -- COMMAND' makes one");
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExperiments() { return std::make_unique<ExperimentsCommand>(); }

}  // namespace hpc::client

// hpcctl status: the cluster at a glance.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/forms/record.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class StatusCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Flag("--json", &json_, "print JSON");
    options->Example("hpcctl status");
  }

  absl::StatusOr<int> Run(Session* session) override {
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    HPC_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
    Record record(FormFor(session->out(), json_, Session::NowUs(status.now_us())));
    record.Text("version", "Coordinator", status.version());
    record.Time("started_at", "Up since", status.started_at_us());
    record.Text("state_dir", "State in", status.state_dir());
    record.Note("Nodes",
                absl::StrCat(status.nodes_connected(), " of ", status.nodes(), " connected"));
    record.Integer("nodes", "", status.nodes());
    record.Integer("nodes_connected", "", status.nodes_connected());
    record.Note("Devices", absl::StrCat(status.devices_free(), " of ", status.devices(), " free"));
    record.Integer("devices", "", status.devices());
    record.Integer("devices_free", "", status.devices_free());
    record.Note("Runs", absl::StrCat(status.running(), " running, ", status.queued(), " queued"));
    record.Integer("running", "", status.running());
    record.Integer("queued", "", status.queued());
    record.Integer("last_run", "Last run", status.last_run());
    record.Integer("last_event", "Last event", status.last_event());
    record.Integer("stale_refused", "Stale refused", status.stale_refused());
    session->out().Write(record.Finish());
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatus() { return std::make_unique<StatusCommand>(); }

}  // namespace hpc::client

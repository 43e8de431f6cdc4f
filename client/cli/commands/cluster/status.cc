// hpcctl status: the cluster at a glance.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/forms/record.h"
#include "client/cli/show/overview.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

class StatusCommand : public Command {
 public:
  void Declare(Options* options) override {
    options->Details(
        "Each PC with what runs there, and each run that is not over with what it waits for. JSON "
        "has\nthe totals alone: 'hpcctl nodes --json' and 'hpcctl runs --json' have the rest.");
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
    record.Integer("last_run", "", status.last_run());
    record.Integer("last_event", "", status.last_event());
    record.Integer("stale_refused", "", status.stale_refused());
    session->out().Write(record.Finish());
    return json_ ? kExitOk : ShowOverview(session, client);
  }

 private:
  // Each PC, and the runs that are not over.
  static absl::StatusOr<int> ShowOverview(Session* session, Client* client) {
    HPC_ASSIGN_OR_RETURN(const v1::ListNodesResponse nodes, client->ListNodes());
    std::vector<v1::Run> runs;
    HPC_RETURN_IF_ERROR(
        client->ListRuns(LiveRunsRequest(), [&](const v1::ListRunsResponse& response) {
          runs.insert(runs.end(), response.runs().begin(), response.runs().end());
        }));
    session->out().Write(
        Overview({nodes.nodes().begin(), nodes.nodes().end()}, std::move(runs),
                 FormFor(session->out(), /*json=*/false, Session::NowUs(nodes.now_us()))));
    return kExitOk;
  }

  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeStatus() { return std::make_unique<StatusCommand>(); }

}  // namespace hpc::client

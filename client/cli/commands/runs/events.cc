// hpcctl events: decisions and observations with their reasons.
#include <limits>
#include <optional>

#include "client/cli/commands.h"
#include "client/cli/exit_codes.h"
#include "client/cli/find_run.h"
#include "client/cli/input/usage_error.h"
#include "client/cli/show/event_lines.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

constexpr int64_t kNewest = 100, kNewestWhenFollowing = 10;

class EventsCommand : public Command {
 public:
  void Declare(Options* options) override {
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    options->Flag("-f,--follow", &follow_, "go on with each new one, until Ctrl-C");
    options->Word("--run", "RUN", &run_, "only of this run");
    options->Text("--node", "NODE", &node_, "only of this node");
    options->Flag("--security", &security_,
                  "only who joined, was refused or shut out, and tokens (for admins)");
    options->Integer("-n,--newest,--tail", "N", &newest_, 1, kMax,
                     "begin with the newest N, 1000 at most (default 100; 10 with -f)");
    options->Integer("--after", "ID", &after_, 0, kMax,
                     "begin behind this event (0: with the first)");
    options->Flag("--json", &json_, "print JSON; with -f one object a line");
    options->Example("hpcctl events -f");
    options->Example("hpcctl events --run 12 --after 0");
    options->Example("hpcctl events --security -f");
  }

  absl::StatusOr<int> Run(Session* session) override {
    if (newest_ && after_) return UsageError("--newest and --after are two beginnings; give one.");
    v1::ListEventsRequest request;
    request.set_follow(follow_);
    request.set_node(node_);
    request.set_security(security_);
    if (after_) {
      request.set_after(*after_);
    } else {
      request.set_newest(newest_.value_or(follow_ ? kNewestWhenFollowing : kNewest));
    }
    HPC_ASSIGN_OR_RETURN(Client * client, session->Connect());
    if (!run_.empty()) {
      HPC_ASSIGN_OR_RETURN(const int64_t run, FindRun(client, run_));
      request.set_run(run);
    }
    const ListingForm form = FormFor(session->out(), json_, 0);
    if (follow_ || !json_) return Print(session, client, request, form);
    JsonWriter json;
    json.BeginArray();
    HPC_RETURN_IF_ERROR(client->ListEvents(request, [&](const v1::ListEventsResponse& response) {
      for (const v1::Event& event : response.events()) {
        json.NewLine();
        json.Raw(EventJson(event));
      }
      session->out().Write(json.Take());
    }));
    json.NewLine();
    json.EndArray();
    session->out().Write(json.Take() + "\n");
    return kExitOk;
  }

 private:
  absl::StatusOr<int> Print(Session* session, Client* client, const v1::ListEventsRequest& request,
                            const ListingForm& form) {
    const absl::Status heard =
        client->ListEvents(request, [&](const v1::ListEventsResponse& response) {
          for (const v1::Event& event : response.events()) {
            session->out().Write(EventLine(event, form));
          }
          if (follow_) session->out().Flush();
          session->LeaveIfUnwritten();
        });
    if (session->out().status().ok()) HPC_RETURN_IF_ERROR(heard);
    return kExitOk;
  }

  bool follow_ = false;
  std::string run_, node_;
  bool security_ = false;
  std::optional<int64_t> newest_, after_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeEvents() { return std::make_unique<EventsCommand>(); }

}  // namespace hpc::client

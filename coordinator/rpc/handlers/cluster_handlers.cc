#include "coordinator/rpc/handlers/cluster_handlers.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/version.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/answers/backup_source.h"
#include "coordinator/rpc/answers/list_sources.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/answers/why.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/limits.h"
#include "coordinator/rpc/convert/message_check.h"

namespace hpc::coordinator {
namespace {

// How many events are read, and how many are told at most. A gang of many ranks has many events,
// and only a few of them explain anything.
constexpr int64_t kEventsRead = 500;
constexpr size_t kEventsTold = 20;

// Adds the numbers of the newest event and run.
absl::StatusOr<v1::GetStatusResponse> AddNewest(v1::GetStatusResponse out, StoreReader& reader) {
  EventFilter newest_event;
  newest_event.newest = true;
  newest_event.limit = 1;
  RunFilter newest_run;
  newest_run.limit = 1;
  HPC_ASSIGN_OR_RETURN(const auto events, reader.ListEvents(newest_event));
  HPC_ASSIGN_OR_RETURN(const auto runs, reader.ListRuns(newest_run));
  out.set_last_event(events.empty() ? 0 : events[0].id);
  out.set_last_run(runs.empty() ? 0 : runs[0].record.id);
  return out;
}

// Adds the events that `filter` lets through and that explain something.
absl::Status AddEvents(EventFilter filter, StoreReader& reader, v1::WhyResponse* out) {
  filter.newest = true;
  filter.limit = kEventsRead;
  HPC_ASSIGN_OR_RETURN(const std::vector<EventRecord> read, reader.ListEvents(filter));
  const std::vector<EventRecord> once = TellOnce(read);
  const std::vector<EventRecord> told = Shorten(once, kEventsTold);
  for (const EventRecord& event : told) *out->add_events() = ToProto(event);
  out->set_left_out(static_cast<int64_t>(once.size() - told.size()));
  return absl::OkStatus();
}

// What the store knows of a run.
struct ReadWhy {
  RunRow row;
  v1::WhyResponse out;
};

absl::StatusOr<ReadWhy> ReadWhyRun(RunId run, StoreReader& reader) {
  ReadWhy why;
  HPC_ASSIGN_OR_RETURN(why.row, FindRunRow(reader, run));
  EventFilter filter;
  filter.run = run;
  HPC_RETURN_IF_ERROR(AddEvents(filter, reader, &why.out));
  return why;
}

}  // namespace

void ClusterHandlers::GetStatus(const Caller&, const v1::GetStatusRequest&,
                                Reply<v1::GetStatusResponse> reply) {
  const Cluster::Totals totals = engine_->cluster().GetTotals();
  v1::GetStatusResponse out;
  out.set_version(Version());
  out.set_started_at_us(ToMicros(started_at_));
  out.set_nodes(totals.nodes);
  out.set_nodes_connected(totals.nodes_connected);
  out.set_devices(totals.devices);
  out.set_devices_free(totals.devices_free);
  out.set_queued(totals.queued);
  out.set_running(totals.running);
  out.set_stale_refused(totals.stale_refused);
  out.set_state_dir(state_dir_);
  out.set_now_us(ToMicros(engine_->now().wall));
  engine_->Read([out = std::move(out)](StoreReader& reader) { return AddNewest(out, reader); },
                std::move(reply));
}

SourceOr<v1::ListEventsResponse> ClusterHandlers::ListEvents(const Caller& caller,
                                                             const v1::ListEventsRequest& request) {
  HPC_RETURN_IF_ERROR(CheckListEvents(request));
  if (!request.node().empty()) {
    HPC_RETURN_IF_ERROR(CheckNodeName(request.node()));
    // Events of security may name a node that was refused, so no such node needs to exist.
    if (!request.security()) HPC_RETURN_IF_ERROR(engine_->cluster().CheckNode(request.node()));
  }
  if (request.security() && caller.own_only) {
    return absl::PermissionDeniedError("events of security are told to admins only");
  }
  const SecurityEvents security = request.security() ? SecurityEvents::kOnly
                                  : caller.own_only  ? SecurityEvents::kWithout
                                                     : SecurityEvents::kWithAll;
  return std::make_unique<EventsSource>(engine_, request, security);
}

SourceOr<v1::BackupPiece> ClusterHandlers::Backup(const Caller& caller,
                                                  const v1::BackupRequest& request) {
  if (!backup_.expired()) {
    return absl::FailedPreconditionError("another backup is being made: try again when it is done");
  }
  HPC_ASSIGN_OR_RETURN(std::shared_ptr<BackupJob> job,
                       BackupJob::Start(state_dir_, !request.without_logs(), engine_->now().wall));
  backup_ = job;
  engine_->Note({event::kSecurityBackup,
                 absl::StrCat(WhoIs(caller), " takes a backup, which holds the keys"),
                 Severity::kInfo});
  return std::make_unique<BackupSource>(std::move(job), later_);
}

void ClusterHandlers::Why(const Caller&, const v1::WhyRequest& request,
                          Reply<v1::WhyResponse> reply) {
  const std::string& subject = request.subject();
  if (absl::Status status = CheckName("the run or node", subject, kMaxName); !status.ok()) {
    return reply(status);
  }
  RunId run = 0;
  if (!absl::SimpleAtoi(subject, &run)) return WhyNode(subject, std::move(reply));
  WhyRun(run, [this, subject, reply](const absl::StatusOr<v1::WhyResponse>& why) {
    if (why.ok() || !engine_->cluster().CheckNode(subject).ok()) return reply(why);
    WhyNode(subject, reply);
  });
}

void ClusterHandlers::WhyRun(RunId run, Reply<v1::WhyResponse> reply) {
  engine_->Read([run](StoreReader& reader) { return ReadWhyRun(run, reader); },
                [this, run, reply](absl::StatusOr<ReadWhy> why) {
                  if (!why.ok()) return reply(why.status());
                  RunWait wait;
                  std::string rendezvous;
                  if (IsStill(*engine_, run, why->row.record.state)) {
                    wait = engine_->cluster().Waiting(engine_->now(), run);
                    rendezvous = engine_->cluster().RendezvousState(engine_->now(), run);
                  }
                  v1::WhyResponse out = std::move(why->out);
                  out.set_subject(absl::StrCat("run ", run));
                  out.set_now(ExplainRun(why->row, wait, rendezvous));
                  reply(std::move(out));
                });
}

void ClusterHandlers::WhyNode(const std::string& name, Reply<v1::WhyResponse> reply) {
  for (const Cluster::NodeView& node : engine_->cluster().Nodes(engine_->now())) {
    if (node.record.name != name) continue;
    v1::WhyResponse out;
    out.set_subject(absl::StrCat("node ", name));
    out.set_now(ExplainNode(node));
    const auto read = [name, out](StoreReader& reader) -> absl::StatusOr<v1::WhyResponse> {
      EventFilter filter;
      filter.node = name;
      v1::WhyResponse why = out;
      HPC_RETURN_IF_ERROR(AddEvents(filter, reader, &why));
      return why;
    };
    return engine_->Read(read, std::move(reply));
  }
  const std::string nearest = Nearest(name, engine_->cluster().NodeNames());
  reply(absl::NotFoundError(
      absl::StrCat("'", name, "' is the name or number of no run, and no node's name",
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"))));
}

}  // namespace hpc::coordinator

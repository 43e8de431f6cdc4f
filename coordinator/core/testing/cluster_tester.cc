#include "coordinator/core/testing/cluster_tester.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_matchers.h"
#include "common/text.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator::testing {
namespace {

std::string Describe(const protocol::CoordinatorMessage& command) {
  return std::visit(
      [](const auto& c) -> std::string {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, protocol::Prepare>) {
          return absl::StrCat("prepare ", c.ref.ToString(), " rank ", c.first_rank, "+", c.ranks,
                              "/", c.world_size);
        } else if constexpr (std::is_same_v<T, protocol::Start>) {
          return absl::StrCat("start ", c.ref.ToString(), " ", c.master_addr, ":", c.master_port);
        } else if constexpr (std::is_same_v<T, protocol::Doubt>) {
          return absl::StrCat("doubt ", c.ref.ToString(), " for ", HumanDuration(c.span));
        } else if constexpr (std::is_same_v<T, protocol::Recall>) {
          return absl::StrCat("recall ", c.ref.ToString(), " on ", c.node, " at ", c.address, ":",
                              c.access.port, " within ", HumanDuration(c.grace));
        } else if constexpr (std::is_same_v<T, protocol::Stop>) {
          return absl::StrCat("stop ", c.ref.ToString(), " within ", HumanDuration(c.grace), ": ",
                              c.reason);
        } else if constexpr (std::is_same_v<T, protocol::Forget>) {
          return absl::StrCat("forget ", c.ref.ToString());
        } else if constexpr (std::is_same_v<T, protocol::SetOwner>) {
          return absl::StrCat(c.reclaimed ? "reclaimed" : "lent",
                              c.grace ? " within " + HumanDuration(*c.grace) : "",
                              c.left ? ", for " + HumanDuration(*c.left) : "");
        } else {
          return "sleep";
        }
      },
      command);
}

}  // namespace

protocol::Hello HelloOf(const std::string& name, int gpus, int cpu_slots) {
  protocol::Hello hello;
  hello.node = name;
  hello.incarnation = 1;
  hello.boot_id = "boot-1";
  hello.address = "10.0.0." + name;
  hello.inventory.cores = 4;
  for (int i = 0; i < gpus + cpu_slots; ++i) {
    protocol::Device device;
    device.index = i;
    device.kind = i < gpus ? protocol::DeviceKind::kGpu : protocol::DeviceKind::kCpuSlot;
    hello.inventory.devices.push_back(device);
  }
  protocol::NetworkInterface eth0;
  eth0.name = "eth0";
  eth0.mac = "02:00:00:00:00:01";
  hello.inventory.interfaces = {eth0};
  return hello;
}

protocol::RankExit Code(int code, const std::string& message) {
  return {code, {}, false, message, ""};
}

protocol::HeldAttempt Held(AttemptRef ref, int rank, bool started) {
  protocol::HeldAttempt held;
  held.ref = ref;
  held.started = started;
  held.ranks.push_back({rank, started ? 1000 + rank : 0, std::nullopt, {}});
  return held;
}

protocol::HeldAttempt HeldWith(AttemptRef ref, std::vector<protocol::HeldRank> ranks) {
  protocol::HeldAttempt held;
  held.ref = ref;
  held.started = true;
  held.ranks = std::move(ranks);
  return held;
}

protocol::Hello BackWith(const std::string& name, const protocol::HeldAttempt& held) {
  protocol::Hello hello = HelloOf(name);
  hello.incarnation = 2;
  hello.attempts.push_back(held);
  return hello;
}

RunRequest Nodes(int n) { return Nodes(n, n); }

RunRequest Nodes(int min, int max) {
  RunRequest request;
  request.min_nodes = min;
  request.max_nodes = max;
  return request;
}

RunRequest Gpus(int n) {
  RunRequest request;
  request.gpus_per_node = n;
  return request;
}

ClusterTester::ClusterTester(const ClusterOptions& options, const Snapshot& snapshot,
                             const FakeClock& clock)
    : clock_(clock),
      cluster_(std::make_unique<Cluster>(options, snapshot, clock_.Get(), &PastOf, this)),
      last_event_(snapshot.last_event),
      last_run_(snapshot.last_run) {
  for (const RunRecord& r : snapshot.runs) runs_[r.id] = r;
  for (const AttemptRecord& a : snapshot.attempts) attempts_[a.ref.run] = a;
  restored_ = snapshot.restored;
  for (const PlacementRecord& p : snapshot.placements) placements_[{p.ref, p.node}] = p;
  for (const RankRecord& r : snapshot.ranks) ranks_[{r.ref, r.rank}] = r;
  for (const NodeRecord& n : snapshot.nodes) nodes_[n.name] = n;
  Settle();
}

std::optional<RunState> ClusterTester::PastOf(void* self, RunId run) {
  const auto& past = static_cast<ClusterTester*>(self)->past;
  const auto it = past.find(run);
  return it == past.end() ? std::nullopt : std::make_optional(it->second);
}

void ClusterTester::Settle() {
  cluster_->Tick(clock_.Get(), &effects_);
  for (const Change& change : effects_.changes) {
    std::visit(
        [&](const auto& r) {
          using T = std::decay_t<decltype(r)>;
          if constexpr (std::is_same_v<T, RunRecord>) {
            runs_[r.id] = r;
            last_run_ = std::max(last_run_, r.id);
          } else if constexpr (std::is_same_v<T, AttemptRecord>) {
            attempts_[r.ref.run] = r;
          } else if constexpr (std::is_same_v<T, PlacementRecord>) {
            placements_[{r.ref, r.node}] = r;
          } else if constexpr (std::is_same_v<T, RankRecord>) {
            ranks_[{r.ref, r.rank}] = r;
          } else if constexpr (std::is_same_v<T, NodeRecord>) {
            nodes_[r.name] = r;
          } else if constexpr (std::is_same_v<T, HoldOver>) {
            hold_over_ = true;
          } else {
            EXPECT_EQ(r.id, last_event_ + 1) << "events are numbered without gaps";
            last_event_ = r.id;
            events_.push_back(r);
          }
        },
        change);
  }
  messages_.insert(messages_.end(), effects_.messages.begin(), effects_.messages.end());
  wakes_.insert(wakes_.end(), effects_.wakes.begin(), effects_.wakes.end());
  effects_ = {};
}

// ------------------------------------------------------------------------- what happens

void ClusterTester::Join(const std::vector<std::string>& names) {
  for (const std::string& name : names) ASSERT_OK(Hello(HelloOf(name)));
}

absl::StatusOr<protocol::Welcome> ClusterTester::Hello(const protocol::Hello& hello) {
  auto welcome = cluster_->Hello(now(), hello, &effects_);
  if (welcome.ok()) incarnations_[hello.node] = hello.incarnation;
  Settle();
  return welcome;
}

absl::StatusOr<RunId> ClusterTester::TrySubmit(const RunRequest& request) {
  auto id = cluster_->Submit(now(), request, &effects_);
  Settle();
  return id;
}

RunId ClusterTester::Submit(const RunRequest& request) {
  auto id = TrySubmit(request);
  EXPECT_OK(id);
  return id.ok() ? *id : 0;
}

absl::Status ClusterTester::ChangeRun(RunId run, RunChange change, const std::string& who) {
  change.by = who;
  absl::Status status = cluster_->ChangeRun(now(), run, change, &effects_).status();
  Settle();
  return status;
}

absl::Status ClusterTester::Cancel(RunId run, const std::string& who) {
  absl::Status status = cluster_->Cancel(now(), run, {who}, &effects_);
  Settle();
  return status;
}

absl::Status ClusterTester::Reclaim(const std::string& name, std::optional<absl::Duration> duration,
                                    std::optional<absl::Duration> grace) {
  ReclaimRequest request;
  request.duration = duration;
  request.grace = grace;
  request.reason = "a game";
  request.who = "anna";
  absl::Status status = cluster_->Reclaim(now(), name, request, &effects_);
  Settle();
  return status;
}

absl::Status ClusterTester::Lend(const std::string& name) {
  absl::Status status = cluster_->Lend(now(), name, "anna", &effects_);
  Settle();
  return status;
}

absl::StatusOr<SleepAnswer> ClusterTester::PutToSleep(const std::string& name) {
  absl::StatusOr<SleepAnswer> answer = cluster_->Sleep(now(), name, "anna", &effects_);
  Settle();
  return answer;
}

absl::Status ClusterTester::Wake(const std::string& name) {
  absl::Status status = cluster_->Wake(now(), name, "anna", &effects_);
  Settle();
  return status;
}

void ClusterTester::StandStill(absl::Duration d) {
  clock_.Advance(d);
  Settle();
}

void ClusterTester::Pass(absl::Duration d, const std::vector<std::string>& silent) {
  while (d > absl::ZeroDuration()) {
    const absl::Duration due = cluster_->NextDeadline() - now().mono;
    const absl::Duration next = due > absl::ZeroDuration() ? due : absl::Seconds(1);
    const absl::Duration step = std::min({d, absl::Seconds(1), next});
    clock_.Advance(step);
    d -= step;
    for (const auto& [name, incarnation] : incarnations_) {
      if (std::count(silent.begin(), silent.end(), name) > 0) continue;
      (void)cluster_->Heard(now(), {name, incarnation});
    }
    Settle();
  }
}

void ClusterTester::Disconnect(const std::string& name, bool reset) {
  cluster_->Disconnected(now(), {name, incarnations_[name]}, reset, &effects_);
  incarnations_.erase(name);
  Settle();
}

absl::Status ClusterTester::Report(const std::string& name, const protocol::NodeReport& report) {
  absl::Status status = cluster_->Apply(now(), {name, incarnations_[name]}, report, &effects_);
  Settle();
  return status;
}

absl::Status ClusterTester::Forget(const std::string& name) {
  absl::Status status = cluster_->Forget(now(), name, "anna", &effects_);
  Settle();
  return status;
}

void ClusterTester::ShutOut(const std::string& name, const std::string& why) {
  cluster_->ShutOut(now(), name, why, &effects_);
  Settle();
}

void ClusterTester::SaveSeen() {
  cluster_->SaveSeen(now(), &effects_);
  Settle();
}

absl::Status ClusterTester::Prepared(RunId run, const std::string& name, absl::Status status,
                                     std::vector<protocol::FoundCheckpoint> checkpoints) {
  protocol::Prepared report;
  report.checkpoints = std::move(checkpoints);
  report.ref = ref(run);
  report.status = std::move(status);
  report.recall = recall;
  const std::vector<std::string> names = nodes_of(run);
  if (!names.empty() && names[0] == name) {
    report.store_addr = nodes_.at(name).address;
    report.store_port = 29500;
  }
  return Report(name, report);
}

absl::Status ClusterTester::Started(RunId run, const std::string& name, absl::Duration ago) {
  protocol::Started started{ref(run), {}};
  for (const PlacementRecord& p : placements(run)) {
    if (p.node != name) continue;
    for (int32_t i = 0; i < p.ranks; ++i) {
      started.ranks.push_back({p.first_rank + i, 1000 + p.first_rank + i, {}, {ago, {}}});
    }
  }
  return Report(name, started);
}

absl::Status ClusterTester::Exit(RunId run, int rank, int code) {
  protocol::RankExit exit;
  exit.exit_code = code;
  return Exit(run, rank, exit);
}

absl::Status ClusterTester::Exit(RunId run, int rank, const protocol::RankExit& exit,
                                 protocol::RankAges ago) {
  std::string name;
  for (const PlacementRecord& p : placements(run)) {
    if (rank >= p.first_rank && rank < p.first_rank + p.ranks) name = p.node;
  }
  return Report(name, protocol::RankEnded{ref(run), rank, exit, ago});
}

absl::Status ClusterTester::Doubted(RunId run, const std::string& name) {
  return Report(name, protocol::Doubted{ref(run), now().mono});
}

absl::Status ClusterTester::Recalled(RunId run, const std::string& name, const std::string& lost,
                                     const absl::Status& status) {
  return Report(name, protocol::Recalled{ref(run), lost, status});
}

absl::Status ClusterTester::Returned(RunId run, const std::string& name,
                                     const std::string& lost_reason) {
  return Halted(run, name,
                lost_reason.empty()
                    ? protocol::Halt()
                    : protocol::Halt{protocol::HaltKind::kSupervisorLost, lost_reason, {}, {}});
}

absl::Status ClusterTester::ReturnedOver(const std::string& name, AttemptRef ref) {
  return Report(name, protocol::AttemptReturned{ref, {}});
}

absl::Status ClusterTester::Halted(RunId run, const std::string& name, const protocol::Halt& halt) {
  return Report(name, protocol::AttemptReturned{ref(run), halt});
}

absl::Status ClusterTester::Halts(RunId run, const std::string& name, const protocol::Halt& halt) {
  return Report(name, protocol::AttemptHalted{ref(run), halt});
}

void ClusterTester::AllPrepared(RunId run) {
  for (const std::string& name : nodes_of(run)) EXPECT_OK(Prepared(run, name));
}

void ClusterTester::AllStarted(RunId run) {
  for (const std::string& name : nodes_of(run)) EXPECT_OK(Started(run, name));
}

void ClusterTester::AllReturned(RunId run) {
  const AttemptRef attempt = ref(run);
  for (const PlacementRecord& p : placements(run)) {
    if (p.returned) continue;
    EXPECT_OK(Report(p.node, protocol::AttemptReturned{attempt, {}}));
  }
}

void ClusterTester::Run(RunId run) {
  AllPrepared(run);
  AllStarted(run);
}

void ClusterTester::Finish(RunId run) {
  for (int rank = 0; rank < attempt(run).world_size; ++rank) EXPECT_OK(Exit(run, rank, 0));
  AllReturned(run);
}

// ------------------------------------------------------------------------- what is known

std::vector<PlacementRecord> ClusterTester::placements(RunId run) const {
  std::vector<PlacementRecord> found;
  for (const auto& [key, p] : placements_) {
    if (key.first == ref(run)) found.push_back(p);
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.node_rank < b.node_rank; });
  return found;
}

std::vector<std::string> ClusterTester::nodes_of(RunId run) const {
  std::vector<std::string> names;
  for (const PlacementRecord& p : placements(run)) names.push_back(p.node);
  return names;
}

Cluster::NodeView ClusterTester::View(const std::string& name) const {
  for (const Cluster::NodeView& view : cluster_->Nodes(clock_.Get())) {
    if (view.record.name == name) return view;
  }
  ADD_FAILURE() << "no node " << name;
  return {};
}

Snapshot ClusterTester::Durable() const {
  Snapshot snapshot;
  snapshot.last_run = last_run_;
  snapshot.last_event = last_event_;
  snapshot.restored = restored_;
  snapshot.restored.hold_over |= hold_over_;
  for (const auto& [name, node] : nodes_) {
    if (!node.forgotten) snapshot.nodes.push_back(node);
  }
  for (const auto& [id, run] : runs_) {
    if (IsTerminal(run.state)) continue;
    snapshot.runs.push_back(run);
    for (const auto& [key, p] : placements_) {
      if (key.first == AttemptRef{id, run.attempts}) snapshot.placements.push_back(p);
    }
    const auto attempt = attempts_.find(id);
    if (attempt == attempts_.end() || attempt->second.state == AttemptState::kEnded) continue;
    snapshot.attempts.push_back(attempt->second);
    for (const auto& [key, r] : ranks_) {
      if (key.first == attempt->second.ref) snapshot.ranks.push_back(r);
    }
  }
  return snapshot;
}

// ---------------------------------------------------------------------- what was wanted

std::vector<std::string> ClusterTester::TakeMessages() {
  std::vector<std::string> lines;
  for (const NodeMessage& message : std::exchange(messages_, {})) {
    lines.push_back(absl::StrCat(message.node, ": ", Describe(message.command)));
  }
  return lines;
}

std::vector<std::string> ClusterTester::TakeEvents(const std::string& prefix) {
  std::vector<std::string> lines;
  for (const EventRecord& event : std::exchange(events_, {})) {
    if (!absl::StartsWith(event.kind, prefix)) continue;
    lines.push_back(absl::StrCat(event.kind, " ", event.text));
  }
  return lines;
}

std::vector<WakeNode> ClusterTester::TakeWakes() { return std::exchange(wakes_, {}); }

}  // namespace hpc::coordinator::testing

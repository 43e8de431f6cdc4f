// A Cluster whose clock stands still, whose workers answer only what a test says, and with words
// for what happens. So a test reads as a story.
#ifndef HPC_COORDINATOR_CORE_TESTING_CLUSTER_TESTER_H_
#define HPC_COORDINATOR_CORE_TESTING_CLUSTER_TESTER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/reports.h"
#include "protocol/hello.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator::testing {

// A node's address, boot id and incarnation are made from its name: "10.0.0.<name>", "boot-1", 1.
protocol::Hello HelloOf(const std::string& name, int gpus = 1, int cpu_slots = 0);

// Most refusals of this cluster are of this kind.
inline constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
// stop_after_disconnect, the grace of Nodes(), and the time for SIGKILL.
inline constexpr absl::Duration kFence = absl::Seconds(300 + 30 + 2);

protocol::RankExit Code(int code, const std::string& message = "");
// What a worker says of an attempt of which it still has this rank; its pid is 1000 and its number.
protocol::HeldAttempt Held(AttemptRef ref, int rank, bool started = true);
// The same of several ranks that were started.
protocol::HeldAttempt HeldWith(AttemptRef ref, std::vector<protocol::HeldRank> ranks);
// What the node's next worker says when it connects.
protocol::Hello BackWith(const std::string& name, const protocol::HeldAttempt& held);

// A request for n nodes with every GPU of each.
RunRequest Nodes(int n);
RunRequest Nodes(int min, int max);
// A request for one node with n GPUs.
RunRequest Gpus(int n);

class ClusterTester {
 public:
  // `clock` shows the time at which the coordinator is started.
  explicit ClusterTester(const ClusterOptions& options = {}, const Snapshot& snapshot = {},
                         const FakeClock& clock = {});

  // ---- what happens
  // Connects nodes with one GPU each.
  void Join(const std::vector<std::string>& names);
  absl::StatusOr<protocol::Welcome> Hello(const protocol::Hello& hello);
  // Submits; the run is placed if that is possible. Fails the test if the request is refused.
  RunId Submit(const RunRequest& request);
  absl::StatusOr<RunId> TrySubmit(const RunRequest& request);
  absl::Status Cancel(RunId run, const std::string& who = "anna");
  absl::Status ChangeRun(RunId run, RunChange change, const std::string& who = "anna");
  absl::Status Hold(RunId run) { return ChangeRun(run, {.hold = true}); }
  absl::Status Release(RunId run) { return ChangeRun(run, {.hold = false}); }
  absl::Status Reclaim(const std::string& node,
                       std::optional<absl::Duration> duration = std::nullopt,
                       std::optional<absl::Duration> grace = std::nullopt);
  absl::Status Lend(const std::string& node);
  absl::Status Sleep(const std::string& node) { return PutToSleep(node).status(); }
  // The same; returns what whoever does it is told.
  absl::StatusOr<SleepAnswer> PutToSleep(const std::string& node);
  absl::Status Wake(const std::string& node);
  // Lets time pass. At least once a second every connected node sends a heartbeat, except for those
  // in `silent`.
  void Pass(absl::Duration d, const std::vector<std::string>& silent = {});
  // Lets time pass in which the coordinator does nothing.
  void StandStill(absl::Duration d);
  void Disconnect(const std::string& node, bool reset);
  // What a connected node says, of any kind.
  absl::Status Report(const std::string& node, const protocol::NodeReport& report);
  absl::Status Leaving(const std::string& node, const std::string& reason, bool stays_on = false) {
    return Report(node, protocol::Leaving{reason, stays_on});
  }
  absl::Status Forget(const std::string& node);
  void ShutOut(const std::string& node, const std::string& why = "revoked by anna");
  void SaveSeen();

  // What a node reports about the newest attempt of a run.
  absl::Status Prepared(RunId run, const std::string& node, absl::Status status = absl::OkStatus(),
                        std::vector<protocol::FoundCheckpoint> checkpoints = {});
  absl::Status Started(RunId run, const std::string& node,
                       absl::Duration ago = absl::ZeroDuration());
  absl::Status Exit(RunId run, int rank, int code);
  absl::Status Exit(RunId run, int rank, const protocol::RankExit& exit,
                    protocol::RankAges ago = {});
  absl::Status Returned(RunId run, const std::string& node, const std::string& lost_reason = "");
  // The node says that an attempt has ended there which is over already.
  absl::Status ReturnedOver(const std::string& node, AttemptRef ref);
  absl::Status Halted(RunId run, const std::string& node, const protocol::Halt& halt);
  // The node ends the ranks by itself, and still has some.
  absl::Status Halts(RunId run, const std::string& node, const protocol::Halt& halt);
  // What `node` found when it was told to recall the ranks of `lost`.
  absl::Status Recalled(RunId run, const std::string& node, const std::string& lost,
                        const absl::Status& status = absl::OkStatus());
  // The node says that it does not vouch, as it has been asked to just now.
  absl::Status Doubted(RunId run, const std::string& node);
  // The same for all nodes or ranks of the attempt.
  void AllPrepared(RunId run);
  void AllStarted(RunId run);
  void AllReturned(RunId run);
  // Prepares and starts the run on all of its nodes.
  void Run(RunId run);
  // Every rank exits 0 and every node returns its devices.
  void Finish(RunId run);

  // ---- what is known
  RunRecord record(RunId run) const { return runs_.at(run); }  // as it was made durable
  RunState state(RunId run) const { return runs_.at(run).state; }
  AttemptRecord attempt(RunId run) const { return attempts_.at(run); }
  RankRecord rank(RunId run, int number) const { return ranks_.at({ref(run), number}); }
  NodeRecord node(const std::string& name) const { return nodes_.at(name); }
  // Those of the newest attempt, by node rank.
  std::vector<PlacementRecord> placements(RunId run) const;
  std::vector<std::string> nodes_of(RunId run) const;
  // The node must exist.
  Cluster::NodeView View(const std::string& name) const;
  std::string NodeState(const std::string& name) const { return View(name).state; }
  std::string Wait(RunId run) const { return cluster_->Waiting(clock_.Get(), run).text; }
  int Position(RunId run) const { return cluster_->Waiting(clock_.Get(), run).queue_position; }
  // All that is durable, in the form in which a restarted coordinator gets it.
  Snapshot Durable() const;

  // ---- what was wanted since the last call, as lines: "pc1: prepare 1.1 rank 0+1/2"
  std::vector<std::string> TakeMessages();
  // "run.placed pc1: the only ..." since the last call; only kinds that begin with `prefix`.
  std::vector<std::string> TakeEvents(const std::string& prefix = "");
  std::vector<WakeNode> TakeWakes();
  // The messages that the last call of TakeMessages returned, in the same order; they are not
  // taken.
  const std::vector<NodeMessage>& messages() const { return messages_; }

  Cluster& cluster() { return *cluster_; }
  FakeClock& clock() { return clock_; }
  Now now() const { return clock_.Get(); }
  AttemptRef ref(RunId run) const { return {run, runs_.at(run).attempts}; }

  // What nodes that are prepared say about how their ranks may be recalled.
  protocol::RecallAccess recall;

  // What the shell would answer about runs that the core has forgotten.
  std::map<RunId, RunState> past;

 private:
  void Settle();
  static std::optional<RunState> PastOf(void* self, RunId run);

  FakeClock clock_;
  std::unique_ptr<Cluster> cluster_;
  Effects effects_;
  std::map<std::string, uint64_t> incarnations_;  // of connected nodes
  std::vector<NodeMessage> messages_;
  std::vector<EventRecord> events_;
  std::vector<WakeNode> wakes_;
  EventId last_event_ = 0;
  RunId last_run_ = 0;
  std::map<RunId, RunRecord> runs_;
  std::map<RunId, AttemptRecord> attempts_;  // the newest attempt of each run
  std::map<std::pair<AttemptRef, std::string>, PlacementRecord> placements_;
  std::map<std::pair<AttemptRef, int32_t>, RankRecord> ranks_;
  std::map<std::string, NodeRecord> nodes_;
  Restored restored_;
  bool hold_over_ = false;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_CORE_TESTING_CLUSTER_TESTER_H_

// The state that the engine holds between two flushes. Only engine*.cc include this.
#ifndef HPC_COORDINATOR_RUNTIME_ENGINE_IMPL_H_
#define HPC_COORDINATOR_RUNTIME_ENGINE_IMPL_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "coordinator/runtime/clock_reading.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/runtime/log_intake.h"
#include "coordinator/runtime/metric_intake.h"
#include "coordinator/runtime/node_links.h"
#include "coordinator/runtime/output_tracker.h"
#include "coordinator/runtime/postscripts.h"
#include "coordinator/runtime/program_cache.h"
#include "coordinator/runtime/watchers.h"
#include "protocol/hello.h"
#include "protocol/prepare.h"

namespace hpc::coordinator {

struct Engine::Impl {
  static constexpr MonoTime kLongAgo{-absl::InfiniteDuration()};

  Impl(const ClusterOptions& options, const Snapshot& snapshot, const Clock* clock_, Store* store_,
       LogStore* logs_, SecretVault* secrets_, WakeSender* wake_sender_)
      : clock(clock_),
        store(store_),
        logs(logs_),
        secrets(secrets_),
        wake_sender(wake_sender_),
        log_intake(logs_),
        metric_intake(store_),
        output(store_),
        cluster(options, snapshot, clock_->Get(), &Impl::LookUpPastRun, this) {
    health = output.Restore(clock->Get(), snapshot);
  }

  ClockNote clock_note;

  // What may be told once a batch is durable.
  struct Outgoing {
    Effects effects;
    std::vector<std::function<void(const absl::Status&)>> answers;
    std::vector<LogReceipt> log_receipts;
    std::vector<MetricReceipt> metric_receipts;
    std::set<RunId> touched;
    std::vector<RunId> over;
    bool events = false;
  };

  static std::optional<RunState> LookUpPastRun(void* context, RunId run);

  // ---- nodes
  absl::Status Alive(const Session& session, Now now);
  // Accepts something that belongs to a rank, or to a whole attempt, from a node that was part of
  // it.
  template <typename Take>
  absl::Status Output(const Session& session, AttemptRef ref, std::optional<int32_t> rank,
                      Take take);
  absl::Status Forget(const Session& session, AttemptRef ref, const absl::Status& status);
  absl::Status SayWhereToGoOn(const protocol::Hello& hello);
  // Treats the attempt as if the node had found that it cannot run it.
  void RefusePrepare(const std::string& node, AttemptRef ref, const absl::Status& why);
  protocol::Inventory WithOurHook(protocol::Inventory inventory) const;
  void Fail(const absl::Status& status);
  void FailUnlessItPasses(const absl::Status& status);

  // ---- flushing
  bool EndsARun() const;
  bool MayWait() const;
  bool Unwritten() const;
  bool WaitsOn(MonoTime now);
  absl::Status FillBatch(Now now, WriteBatch* batch, Outgoing* out);
  absl::Status FlushOutput(Now now, WriteBatch* batch, Outgoing* out);
  absl::Status FlushLogs(Now now, WriteBatch* batch, Outgoing* out);
  absl::Status LogsFull(Now now, const absl::Status& status);
  absl::Status SealComplete(Now now, WriteBatch* batch, Outgoing* out);
  void NoteTouched(const Effects& done, Outgoing* out);
  bool OutputDue(MonoTime now) const;
  MonoTime OutputDeadline() const;
  void Publish(Now now, Outgoing* out);
  void Acknowledge(Now now, const Outgoing& out, std::set<std::string>* told);
  void SendCommand(const NodeMessage& message);
  void SendPrepare(const std::string& node, NodeLink* link, protocol::Prepare prepare);
  void PokeProgress(Now now);

  const Clock* const clock;
  Store* const store;
  LogStore* const logs;
  SecretVault* const secrets;
  WakeSender* const wake_sender;

  // Collected since the last Flush.
  Effects effects;
  std::vector<std::pair<RunId, RunProgram>> new_programs;
  std::vector<EnvironmentRecord> environments;
  std::vector<TrustRecord> trust;
  absl::flat_hash_map<std::string, RunId> new_requests;  // by request id
  std::vector<std::function<void(const absl::Status&)>> answers;
  LogIntake log_intake;
  MetricIntake metric_intake;
  absl::Status health;  // once not OK, nothing more can be promised

  // Holds some thousand programs of usual size. Reading one costs far less than starting it.
  ProgramCache programs{1 << 20};
  OutputTracker output;
  NodeLinks links;
  Postscripts postscripts{&links};
  Watchers watchers;
  std::optional<MonoTime> unwritten_since;  // since when something has waited
  MonoTime last_output = kLongAgo;
  std::optional<MonoTime> output_since;     // since when some output has not been durable
  std::optional<MonoTime> logs_full_since;  // since when there has been no space for logs
  MonoTime last_progress = kLongAgo;
  bool progress_stale = false;  // something happened since last_progress
  int64_t awaited_reads = 0;    // reads whose end has not been told
  std::optional<ReadPool> reads;

  Cluster cluster;  // must be last: its constructor may already ask for past runs
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_ENGINE_IMPL_H_

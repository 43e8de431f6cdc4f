// The owner of the core: takes what handlers and node links bring, lets the core decide, makes the
// decisions durable in one transaction per batch, and only then answers, sends and publishes.
//
// Everything here runs on one thread, the server's completion-queue thread. The server drains its
// queue, which calls methods below; then it calls Flush. Callbacks given to a method are called by
// Flush, after the commit. No gRPC and no protobuf in here.
#ifndef HPC_COORDINATOR_RUNTIME_ENGINE_H_
#define HPC_COORDINATOR_RUNTIME_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/reports.h"
#include "coordinator/runtime/secret_vault.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/read_pool.h"
#include "coordinator/store/store.h"
#include "coordinator/store/store_reader.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

// One connected worker, as the engine sees it. Implemented by rpc/worker_stream.
class NodeLink {
 public:
  virtual ~NodeLink() = default;

  // LogAck and MetricAck tell the worker what is durable so far, so that it may drop it. They are
  // also sent once per stream after the welcome.
  virtual void Send(const protocol::CoordinatorMessage& message) = 0;
  // Ends the stream with this reason. The engine has forgotten the link when it calls this.
  virtual void Close(const absl::Status& reason) = 0;
};

// Somebody who follows a run, or the events. A watcher is told that there may be something new, and
// then reads from its own cursor at its own pace. A slow reader thus costs no memory.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void Poke() = 0;
  // The text of what the run waits for may have changed. This is a hint: it comes at most twice a
  // second.
  virtual void PokeProgress() {}
};

// Sends wake-up packets, or runs a wake hook.
class WakeSender {
 public:
  virtual ~WakeSender() = default;
  virtual absl::Status Wake(const WakeNode& wake) = 0;
  // Whether this sender can wake a node about which nothing is known, as a hook can.
  virtual bool WakesAnyNode() const { return false; }
};

// Metric points that a rank has logged.
struct MetricReport {
  MetricOffset offset;  // of its metrics file, behind the points
  std::vector<MetricPoint> points;
  std::vector<std::string> remarks;  // what is wrong with the file, for the run's events
  bool ended = false;                // nothing will follow
  bool checkpoint_saved = false;     // a rank says there that a checkpoint is whole
};

// An event of a kind "security. ..." or "cluster. ..." (core/event_kinds.h).
struct ClusterNote {
  const char* kind;
  std::string text;
  Severity severity = Severity::kInfo;
};

class Engine {
 public:
  Engine(const ClusterOptions& options, const Snapshot& snapshot, const Clock* clock, Store* store,
         LogStore* logs, SecretVault* secrets, WakeSender* wake_sender);
  ~Engine();

  // ---- clients. Flush calls `done` once the outcome is durable.
  void Submit(const RunRequest& request, const RunProgram& program,
              std::function<void(absl::StatusOr<RunId>)> done);
  void Cancel(RunId run, const Cancellation& cancellation, std::function<void(absl::Status)> done);
  void ChangeRun(RunId run, const RunChange& change,
                 std::function<void(absl::StatusOr<std::string>)> done);
  void Reclaim(const std::string& node, const ReclaimRequest& request,
               std::function<void(absl::Status)> done);
  void Lend(const std::string& node, const std::string& who,
            std::function<void(absl::Status)> done);
  void Sleep(const std::string& node, const std::string& who,
             std::function<void(absl::StatusOr<SleepAnswer>)> done);
  void Wake(const std::string& node, const std::string& who,
            std::function<void(absl::Status)> done);
  void Forget(const std::string& node, const std::string& who,
              std::function<void(absl::Status)> done);

  // Notes that the node's last certificate is void, and `why`. This becomes durable together with
  // what is recorded beside it.
  void ShutOut(const std::string& node, const std::string& why);

  // Makes `records` durable, with an event that tells of them. `done` is called as above.
  void RecordTrust(std::vector<TrustRecord> records, const ClusterNote& note,
                   std::function<void(absl::Status)> done);
  // Records an event alone, for example for a refusal.
  void Note(const ClusterNote& note);

  // Flush calls `done`, too. Whatever it then reads of cluster() is on disk.
  void AfterCommit(std::function<void()> done);

  // ---- nodes. On failure the caller closes the stream with that status. A report about an attempt
  // that was replaced is no failure: the node is told to forget that attempt.
  absl::Status OnHello(const protocol::Hello& hello, NodeLink* link);
  // Tells what the node's clock showed when it said the report that is given next.
  void OnTimes(const Session& session, const NodeTimes& times);
  // The link is not used after this.
  void OnDisconnect(const Session& session, bool reset);
  absl::Status OnReport(const Session& session, protocol::NodeReport report);
  absl::Status OnEnvironment(const Session& session, const EnvironmentRecord& environment);
  absl::Status OnLog(const Session& session, const protocol::StreamId& stream, int64_t offset,
                     absl::string_view data);
  absl::Status OnLogEnd(const Session& session, const protocol::StreamId& stream,
                        int64_t cut_bytes);
  absl::Status OnMetrics(const Session& session, MetricReport report);

  // ---- reading
  //
  // Reads the store for a client, on another thread, so that a long read delays nobody else. It
  // sees everything that the core was told before this call: what of that is not written yet is
  // written first. `query` takes a StoreReader& and returns an absl::StatusOr; all that it reads is
  // of one moment. It must not touch anything that the owner's thread uses. `done` is called with
  // its result on the owner's thread, after this call has returned; or with an error, if what comes
  // before could not be written, or if EndReads was called.
  template <typename Query, typename Done>
  void Read(Query query, Done done) {
    using Result = std::invoke_result_t<Query&, StoreReader&>;
    auto result = std::make_shared<Result>(absl::UnknownError("nothing was read"));
    StartRead(
        [query = std::move(query), result](StoreReader& reader) mutable {
          *result = query(reader);
          return result->status();
        },
        [done = std::move(done), result](const absl::Status& status) {
          done(status.ok() ? std::move(*result) : Result(status));
        });
  }
  // Starts the threads of Read. Must be called before it. `post` leaves work to the owner's thread.
  absl::Status BeginReads(ReadPool::Post post);
  // Ends them. Reads that have not begun end with `why`, and so do those that come later.
  void EndReads(const absl::Status& why);
  // Whether somebody waits for a read.
  bool reading() const;
  Now now() const;
  const Cluster& cluster() const;
  LogStore& logs();
  // Whether all output and all metrics of a run that is over have arrived, or never will.
  bool OutputComplete(RunId run) const;

  // ---- watching; a watcher must unregister before it dies
  void WatchRun(RunId run, Watcher* watcher);  // its events, output and progress
  void WatchEvents(Watcher* watcher);          // every event
  void Unwatch(Watcher* watcher);

  // ---- the loop
  //
  // Ticks the core, commits, then calls back, sends and pokes. If nobody waits for anything in the
  // batch, the commit is put off for a few milliseconds so that it can be shared with what comes
  // meanwhile. An error means that the store cannot be written: the daemon must stop, since nothing
  // further can be promised.
  absl::Status Flush();
  MonoTime NextDeadline() const;
  // Closes every link. What is known of the nodes by then is left for a last Flush to write.
  void Shutdown(const absl::Status& reason);

 private:
  struct Impl;
  void StartRead(ReadPool::Read read, ReadPool::Done done);

  std::unique_ptr<Impl> impl_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_ENGINE_H_

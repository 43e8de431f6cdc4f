// The nodes: the durable record of each, its connection, and the attempts that hold its devices.
#ifndef HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_
#define HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "coordinator/core/state/lease.h"
#include "coordinator/core/values/cause.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/records.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// The devices of one node that an attempt holds. There are none if the node has GPUs and the run
// uses none of them.
struct Holding {
  AttemptRef ref;
  std::vector<int32_t> devices;
};

// Whether the coordinator hears a node.
enum class NodeContact {
  kAwaited,    // it has not connected since the coordinator started
  kConnected,  // its stream is open
  kBroken,     // its stream has ended, and it may still be back in time
  kLost,       // it was silent for longer than its lease
  kNeverCame,  // the same, and it has not connected since the coordinator started
};

// What is known of waking a node that is off, or is about to be.
enum class WakePlan {
  kNone,
  kOnceOff,     // it falls asleep, and somebody wants it
  kLeaveAlone,  // it failed to wake a short time ago
};

struct Node {
  Node(int64_t number_, const ClusterOptions& options)
      : number(number_), heartbeat_interval(options.heartbeat_interval), lease(options.lease) {}

  const int64_t number;  // for timers; holds only within this process
  const absl::Duration heartbeat_interval;
  NodeRecord record;

  // Connection.
  bool connected() const { return contact_ == NodeContact::kConnected; }
  // Whether that is the session by which it is connected.
  bool Speaks(const Session& session) const {
    return connected() && incarnation == session.incarnation;
  }
  bool seen() const {
    return contact_ != NodeContact::kAwaited && contact_ != NodeContact::kNeverCame;
  }
  bool lost() const {
    return contact_ == NodeContact::kLost || contact_ == NodeContact::kNeverCame;
  }
  void Connect() { contact_ = NodeContact::kConnected; }
  // Its stream has ended. Nothing changes if it had none.
  void Disconnect() {
    if (connected()) contact_ = NodeContact::kBroken;
  }
  void Lose() { contact_ = seen() ? NodeContact::kLost : NodeContact::kNeverCame; }
  uint64_t incarnation = 0;
  bool can_vouch = false;
  bool hands_over = false;  // its worker has said that another worker follows it
  Lease lease;
  NodeClock clock;
  // When the node said something for the last time.
  Window LastHeard(Now now) const;
  // The time in which something may have happened that the node could no longer tell: since it, or
  // its connection, has been silent, or a little before.
  Window Silence(Now now) const;
  // Whether all that the node had to say until `then` has been heard.
  bool HeardSince(MonoTime then, Now now) const;
  Window silence_before{};  // the silence that ended when the node connected
  // The last time for which the connection to the node was there and carried nothing.
  std::optional<Window> held_up;
  // The last time that its PC seemed to go down: its worker said so or went away, or the PC has
  // restarted.
  std::optional<Cause> went_down;
  MonoTime doubt_at{};  // when its silence is checked next, while it has a witnessed attempt

  std::vector<Holding> holdings;
  // Attempts that were given up and have not ended there yet, as its worker has said. Their devices
  // are not known any more, so nothing is placed there until they have ended.
  std::vector<AttemptRef> orphans;
  // The node could not prepare a run, and that was not the run's fault. Until this time runs go to
  // other nodes if they can.
  MonoTime unable_until{};
  std::string unable_why;
  void MakeUnable(MonoTime now, const std::string& why);

  // Power, beyond its state in the record.
  int32_t wake_packets = 0;  // sent during this wake-up
  MonoTime power_since{};    // when its power state began
  MonoTime said_goes{};      // when it last said that it sleeps or turns off
  WakePlan wake_plan = WakePlan::kNone;
  void NotWakeOnceOff() {
    if (wake_plan == WakePlan::kOnceOff) wake_plan = WakePlan::kNone;
  }
  void MayBeWoken() {
    if (wake_plan == WakePlan::kLeaveAlone) wake_plan = WakePlan::kNone;
  }
  std::string wake_reason;

  // For gangs that may grow onto it.
  MonoTime back_since{};   // when it came, woke or was lent
  MonoTime free_since{};   // when it last got a device back
  int32_t departures = 0;  // how often it was lost or reclaimed without an hour's rest between
  void CameBack(MonoTime now) {
    back_since = now;
    unable_until = {};
  }
  void WentAway(MonoTime now);

  // Reclaim.
  bool returning = false;  // it is reclaimed, and something still runs there
  MonoTime reclaim_asked{};
  MonoTime reclaim_due{};  // until when its owner lets ranks live there

  AttemptRef last_stale;  // the attempt for which a report of it was last refused

  const std::string& name() const { return record.name; }
  bool CanWake() const;
  bool ShutOut() const { return !record.revoked.empty(); }
  // Whether it may be given work now, or once it has been woken.
  bool ReadyForWork() const;
  bool Wakeable() const;
  // Whether it was on when the coordinator restarted, and has not connected again.
  bool Awaited() const;
  // The same where it may be given work, since no owner has it.
  bool Expected() const { return Awaited() && !record.reclaimed; }
  std::vector<int32_t> FreeDevices() const;

 private:
  NodeContact contact_ = NodeContact::kAwaited;
};

class NodeTable {
 public:
  explicit NodeTable(const ClusterOptions* options) : options_(options) {}

  Node* Add(const NodeRecord& record);
  Node* Find(const std::string& name);
  const Node* Find(const std::string& name) const;
  Node* At(int64_t number) { return nodes_[static_cast<size_t>(number)].get(); }
  // Destroys `node`. The caller must stop its timers.
  void Remove(Node* node);
  // NotFound: "no node pc9; did you mean pc8?".
  absl::Status Unknown(const std::string& name) const;

  size_t size() const { return by_name_.size(); }
  std::vector<std::string> Names() const;
  // All nodes, by name.
  const absl::btree_map<std::string, Node*>& by_name() const { return by_name_; }

 private:
  const ClusterOptions* options_;
  std::vector<std::unique_ptr<Node>> nodes_;  // index: the node's number; null: removed
  absl::btree_map<std::string, Node*> by_name_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_

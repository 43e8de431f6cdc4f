// The nodes: what is durable about each, its connection, and which attempts hold its devices.
#ifndef HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_
#define HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "coordinator/core/state/lease.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/model.h"
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// Devices of one node that an attempt holds. Empty on a node with GPUs for a run that uses none.
struct Holding {
  AttemptRef ref;
  std::vector<int32_t> devices;
};

struct Node {
  Node(int64_t number_, const ClusterOptions& options)
      : number(number_), heartbeat_interval(options.heartbeat_interval), lease(options.lease) {}

  const int64_t number;  // of this process, for timers
  const absl::Duration heartbeat_interval;
  NodeRecord record;

  // Connection.
  bool seen = false;       // since the coordinator started
  bool connected = false;  // its stream is open
  bool lost = false;
  uint64_t incarnation = 0;
  bool can_vouch = false;
  bool hands_over = false;  // its worker has said that another one follows
  Lease lease;
  NodeClock clock;
  // When it said something for the last time.
  Window LastHeard(Now now) const;
  // When that may have happened which it could not tell any more: since it, or its connection, has
  // been silent, or a little before.
  Window Silence(Now now) const;
  Window silence_before{};  // the silence that ended when it connected
  MonoTime doubt_at{};      // when its silence is looked at next, while it has a witnessed attempt

  std::vector<Holding> holdings;
  // Could not prepare a run, though not because of that run: work goes elsewhere until then.
  MonoTime unable_until{};
  std::string unable_why;

  // Power, beyond its state in the record.
  int32_t wake_packets = 0;    // sent in this wake-up
  MonoTime power_since{};      // when the state began
  MonoTime said_goes{};        // when it said last that it sleeps or turns off
  bool wake_when_off = false;  // somebody wants it while it falls asleep
  bool leave_alone = false;    // it did not wake lately
  std::string wake_reason;

  // For gangs that would grow onto it.
  MonoTime back_since{};   // it came, woke or was lent
  MonoTime free_since{};   // a device of it was given back
  int32_t departures = 0;  // that it was lost or reclaimed, without an hour's rest between
  void CameBack(MonoTime now) {
    back_since = now;
    unable_until = {};
  }
  void WentAway(MonoTime now);

  // Reclaim.
  bool returning = false;  // reclaimed, and something still runs there
  MonoTime reclaim_asked{};

  AttemptRef last_stale;  // what it was last refused for

  const std::string& name() const { return record.name; }
  bool CanWake() const;
  bool ShutOut() const { return !record.revoked.empty(); }
  // May be given work: now, or once it has been woken.
  bool ReadyForWork() const;
  bool Wakeable() const;
  // It was on when the coordinator restarted, and has not connected again.
  bool Expected() const;
  std::vector<int32_t> FreeDevices() const;
};

class NodeTable {
 public:
  explicit NodeTable(const ClusterOptions* options) : options_(options) {}

  Node* Add(const NodeRecord& record);
  Node* Find(const std::string& name);
  const Node* Find(const std::string& name) const;
  Node* At(int64_t number) { return nodes_[static_cast<size_t>(number)].get(); }
  // `node` is gone after this. Its timers are the caller's to stop.
  void Remove(Node* node);
  // NotFound: "no node pc9; did you mean pc8?".
  absl::Status Unknown(const std::string& name) const;

  size_t size() const { return by_name_.size(); }
  std::vector<std::string> Names() const;
  // By name.
  const absl::btree_map<std::string, Node*>& by_name() const { return by_name_; }

 private:
  const ClusterOptions* options_;
  std::vector<std::unique_ptr<Node>> nodes_;  // by number; null: removed
  absl::btree_map<std::string, Node*> by_name_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_NODE_TABLE_H_

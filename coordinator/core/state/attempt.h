// One live attempt: its gang of nodes and ranks, and what has been heard of them.
#ifndef HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_
#define HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/values/cause.h"
#include "coordinator/core/values/model.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// The share of one node, and how far it has come.
struct Member {
  PlacementRecord placement;
  bool prepare_sent = false;
  bool prepared = false;
  bool start_sent = false;
  bool started = false;
  bool lost = false;                      // its node is; devices stay taken until `fence`
  bool disowned = false;                  // lost, but its worker is here and does not know of it
  MonoTime lost_at{};                     // when its node was heard last
  MonoTime fence = MonoTime::Infinite();  // by then its ranks have ended without us
  // What its node has promised, or has shown by ending: that it does not vouch for the attempt.
  MonoTime silent_since = MonoTime::Infinite(), silent_until{};
  std::string store_addr;
  int32_t store_port = 0;
  bool store_client_ok = true;
  RecallAccess recall;           // not after a restart of the coordinator
  std::string recall_by;         // lost: the node that was asked to recall its ranks
  std::vector<RankDoing> doing;  // with its last heartbeat

  // What its rank does, or with -1 the processes of it that survive SIGKILL; "": not known.
  std::string Doing(int32_t rank) const;
};

struct Attempt {
  AttemptRecord record;           // its state is changed by SetState only
  std::vector<Member> members;    // by node rank
  std::vector<RankRecord> ranks;  // by rank
  MonoTime began{};               // created
  MonoTime running_since{};       // when the last rank so far was started
  // Of a restored attempt that is by the wall clock, which may have jumped, until a node has told.
  bool since_told = true;
  MonoTime stopping_since{};
  absl::Duration stop_grace;
  std::vector<Cause> causes;      // why it ends, as they were heard; empty while nothing went wrong
  MonoTime word_of_peer_until{};  // failures that speak of a peer are not acted on before; 0: none
  Cause decided;                  // the one of them that the record tells of; stopping only
  int32_t ranks_done = 0;         // that exited 0 of their own accord
  // Of the rendezvous store, as last reported.
  std::optional<RendezvousReport> rendezvous;
  bool all_connected = false;
  bool connected_unknown = false;  // restored: whether that was said is not known
  bool witnessed = false;          // its nodes vouch for one another
  std::string store_lost_with;     // the node whose worker served it and died
  MonoTime blocked_since{};        // ranks wait for the key of that report
  int32_t late_told = 0;           // how often it was said that ranks wait for others
  // Growth: what it waits for, in words that hold until `growth_at`, and which nodes were told of.
  std::string growth, growth_told;
  MonoTime growth_at = MonoTime::Infinite();

  AttemptRef ref() const { return record.ref; }
  bool stopping() const { return record.state == AttemptState::kStopping; }
  bool SomeRankRuns() const;
  bool AllRanksDone() const { return ranks_done == static_cast<int32_t>(ranks.size()); }
  bool AllReturned() const;
  bool AllPrepared() const;
  bool AllStarted() const;
  Member* FindMember(const std::string& node);
  const Member* FindMember(const std::string& node) const;
  std::vector<std::string> NodeNames() const;
};

// The legal edges. Every change of an attempt's state goes through SetState, which asserts one.
//
//   waking    -> preparing, stopping
//   preparing -> starting, stopping
//   starting  -> running, stopping
//   running   -> stopping, ended (every rank exited 0)
//   stopping  -> ended
bool IsLegal(AttemptState from, AttemptState to);
void SetState(Attempt* attempt, AttemptState to);

// Makes the ranks of the members as placed: global numbers, devices, no process yet.
std::vector<RankRecord> MakeRanks(const std::vector<Member>& members);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_

// One live attempt: its gang of nodes and ranks, and what has been heard of them.
#ifndef HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_
#define HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/state/causes.h"
#include "coordinator/core/values/records.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

// How far a node has come with its part. A later stage includes the earlier ones.
enum class MemberStage { kPlaced, kToldToPrepare, kPrepared, kToldToStart, kStarted };

// Whether the coordinator can learn from a node what became of its part.
enum class MemberContact {
  kThere,
  kLost,      // the node is lost; the devices stay taken until the fence
  kDisowned,  // the same, although its worker is connected: that does not have the attempt
};

// One node's part in an attempt, and how far it has come.
struct Member {
  PlacementRecord placement;
  MemberStage stage = MemberStage::kPlaced;
  MemberContact contact = MemberContact::kThere;
  MonoTime lost_at{};                     // when its node was last heard
  MonoTime fence = MonoTime::Infinite();  // by then its ranks have ended without our help
  // The times between which its node does not vouch for the attempt: it has promised so, or it has
  // returned its part without having ended well.
  MonoTime silent_since = MonoTime::Infinite(), silent_until{};
  std::string store_addr;
  int32_t store_port = 0;
  bool store_client_ok = true;
  std::vector<protocol::FoundCheckpoint> checkpoints;  // as it said when it was prepared
  protocol::RecallAccess recall;                       // unset after a restart of the coordinator
  std::string recall_by;                   // if lost: the node that was asked to recall its ranks
  std::vector<protocol::RankDoing> doing;  // as its last heartbeat said
  // The worker of rank 0 does not answer this node's, as its last heartbeat said.
  std::optional<protocol::PeerSilence> silence;

  bool Reached(MemberStage to) const { return stage >= to; }
  // The stage becomes `to`, unless a later one has been reached.
  void Reach(MemberStage to) { stage = std::max(stage, to); }
  bool lost() const { return contact != MemberContact::kThere; }
  bool disowned() const { return contact == MemberContact::kDisowned; }

  // What the rank is doing, in words; "" if that is not known. -1 stands for those processes on the
  // node that survive SIGKILL.
  std::string Doing(int32_t rank) const;
};

struct Attempt {
  AttemptRecord record;           // its state is changed by SetState only
  std::vector<Member> members;    // by node rank
  std::vector<RankRecord> ranks;  // by rank
  MonoTime began{};               // when it was created
  MonoTime running_since{};       // when the last of its ranks was started
  // False for a restored attempt until one of its nodes has told how long ranks have run: till then
  // `running_since` goes by the wall clock, which may have jumped.
  bool since_told = true;
  MonoTime stopping_since{};
  // A coordinator before this one had begun to stop it, and had heard what led to that.
  bool stopped_before = false;
  absl::Duration stop_grace;
  bool interrupt = false;         // it is stopped because somebody has typed Ctrl-C
  Causes causes;                  // why it ends; empty while all goes well
  MonoTime word_of_peer_until{};  // complaints about a peer are not acted on before; 0: none
  MonoTime settled_at{};  // when it has returned, its verdict is final from then on; 0: none
  // The cause that the record shows as the one that decides, and all causes in it; only while
  // stopping.
  Cause decided;
  std::vector<Cause> recorded;
  int32_t ranks_done = 0;  // ranks that exited 0 of their own accord
  int32_t killed = 0;      // processes that needed SIGKILL on nodes that have returned their part
  // The state of the rendezvous store, as last reported.
  std::optional<protocol::RendezvousReport> rendezvous;
  bool all_connected = false;
  bool connected_unknown = false;  // restored: not known whether that was said
  bool witnessed = false;          // its nodes vouch for one another
  // The worker that served the store died. That is a cause of the end only once a rank fails for
  // want of the store.
  std::optional<Cause> store_lost;
  MonoTime blocked_since{};  // since when ranks wait for the key in that report
  int32_t late_told = 0;     // how often it was said that ranks wait for others
  // What growth waits for until `growth_at`, in words, and the nodes that the last event about
  // growth named.
  std::string growth, growth_told;
  MonoTime growth_at = MonoTime::Infinite();
  // Nodes that it is to give to a waiting run, and what the last event about that said.
  struct Gives {
    RunId to = 0;  // 0: it gives nothing
    std::vector<std::string> nodes;
  };
  Gives gives;
  std::string giving_told;

  AttemptRef ref() const { return record.ref; }
  bool stopping() const { return record.state == AttemptState::kStopping; }
  bool SomeRankRuns() const;
  bool AllRanksDone() const { return ranks_done == static_cast<int32_t>(ranks.size()); }
  // Whether all ranks of the node have exited 0 by themselves. Their work is done then, and nothing
  // that is lost there matters to them.
  bool WorkIsDoneOn(const std::string& node) const;
  bool AllReturned() const;
  bool AllPrepared() const;
  bool AllStarted() const;
  Member* FindMember(const std::string& node);
  const Member* FindMember(const std::string& node) const;
  std::vector<std::string> NodeNames() const;
  // The names of the nodes that have not reached the stage.
  std::vector<std::string> NodesShortOf(MemberStage stage) const;
};

// The legal transitions. Every change of an attempt's state goes through SetState, which asserts
// that it is one of these.
//
//   waking    -> preparing, stopping
//   preparing -> starting, stopping
//   starting  -> running, stopping
//   running   -> stopping, ended (every rank exited 0)
//   stopping  -> ended
bool IsLegal(AttemptState from, AttemptState to);
void SetState(Attempt* attempt, AttemptState to);

// Makes rank records for the members as they are placed: with global numbers and devices, and
// without a process yet.
std::vector<RankRecord> MakeRanks(const std::vector<Member>& members);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_ATTEMPT_H_

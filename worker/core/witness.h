// How the nodes of a witnessed attempt vouch for one another. Each node asks the worker of rank 0,
// again and again, when all of them were last there. docs/RENDEZVOUS.md has the bytes.
//
// The time that is vouched for is never newer than what each node said itself:
// - Rank 0's worker does not count a node as there at the time when a message of it arrives, since
//   that may have been under way for long. It counts the time of its own answer that the node
//   repeats.
// - The node that asks counts from when it asked.
// All times are from clocks that go on while their machine is suspended.
//
// A node whose part has ended well goes on vouching, and may say once and for all that it need not
// be waited for. But no node is whole alone: if all others need not be waited for, one of them must
// still be there.
#ifndef HPC_WORKER_CORE_WITNESS_H_
#define HPC_WORKER_CORE_WITNESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"

namespace hpc::worker {

// What a node says about its part.
enum class Vouch {
  kNo = 0,
  kYes = 1,      // it is as it should be
  kForGood = 2,  // the same, and it has ended: the node is not needed any more
};

struct Keepalive {
  AttemptRef ref;
  int32_t node_rank = 0;
  Vouch vouch = Vouch::kNo;
  MonoTime sent;  // by the asking node's clock
  MonoTime echo;  // the `stamp` of the last answer; zero: none yet

  bool operator==(const Keepalive&) const = default;
};

struct KeepaliveAnswer {
  MonoTime sent;   // copied from the keepalive
  MonoTime stamp;  // by the answering node's clock
  // How long before `stamp` all nodes vouched. Not set: unknown, or longer ago than `heard_ago`.
  std::optional<absl::Duration> whole_ago;
  // How long before `stamp` all nodes were heard, whether or not they vouched: a node whose ranks
  // have failed does not, and is there. Not set: unknown.
  std::optional<absl::Duration> heard_ago;

  bool operator==(const KeepaliveAnswer&) const = default;
};

// The side at the worker of rank 0.
class Witness {
 public:
  Witness(AttemptRef ref, int32_t nodes) : ref_(ref), others_(static_cast<size_t>(nodes - 1)) {}

  // `vouches`: whether this node vouches, too. nullopt: the question is about another attempt, or
  // makes no sense.
  std::optional<KeepaliveAnswer> Answer(MonoTime now, const Keepalive& asked, bool vouches);
  // When all other nodes that are waited for were last there and vouched. If none is waited for,
  // when the last of them was. nullopt: they never were.
  std::optional<MonoTime> WholeAt() const { return LastTime(&Other::there); }
  // The same for when they were heard, whether or not they vouched.
  std::optional<MonoTime> HeardAt() const { return LastTime(&Other::heard); }

 private:
  struct Other {
    MonoTime there;  // and vouched; zero: never
    MonoTime heard;  // zero: never
    bool awaited = true;
  };
  std::optional<MonoTime> LastTime(MonoTime Other::*at) const;
  AttemptRef ref_;
  std::vector<Other> others_;  // by node rank, from 1
};

// The side at the workers of the other nodes.
class Asker {
 public:
  Asker(AttemptRef ref, int32_t node_rank) : ref_(ref), node_rank_(node_rank) {}

  Keepalive Ask(MonoTime now, Vouch vouch);
  // When all nodes were last there, as far as an answer tells; nullopt: it does not tell.
  struct Seen {
    std::optional<MonoTime> whole;  // they vouched
    std::optional<MonoTime> heard;  // they did or did not
  };
  Seen OnAnswer(const KeepaliveAnswer& answer);
  // The last question was not answered, and will not be.
  void GiveUp() { asked_.reset(); }
  std::optional<MonoTime> asked() const { return asked_; }

 private:
  AttemptRef ref_;
  int32_t node_rank_;
  std::optional<MonoTime> asked_;  // set while an answer is awaited
  MonoTime echo_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_WITNESS_H_

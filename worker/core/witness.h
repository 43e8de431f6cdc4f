// How the nodes of a witnessed attempt vouch for one another: each asks the worker of rank 0, again
// and again, when all of them were last there. docs/RENDEZVOUS.md has the bytes.
//
// What is vouched for is never newer than the words of each node: rank 0's worker counts a node as
// there not when something of it arrives, which may have been under way for long, but at the time
// of its own answer that the node repeats; and who asks counts from when it asked. All times are of
// a clock that goes on while its machine is suspended.
//
// A node whose part has ended well goes on vouching, and may say once and for all that it is not
// waited for. But nobody is whole alone: of those that are not waited for one must be there where
// nobody else is left.
#ifndef HPC_WORKER_CORE_WITNESS_H_
#define HPC_WORKER_CORE_WITNESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"

namespace hpc::worker {

// What a node says of its part.
enum class Vouch {
  kNo = 0,
  kYes = 1,      // it is as it should be
  kForGood = 2,  // the same, and it has ended: the node need not be there any more
};

struct Keepalive {
  AttemptRef ref;
  int32_t node_rank = 0;
  Vouch vouch = Vouch::kNo;
  MonoTime sent;  // of the asking node's clock
  MonoTime echo;  // `stamp` of the last answer; zero: none yet

  bool operator==(const Keepalive&) const = default;
};

struct KeepaliveAnswer {
  MonoTime sent;   // of the keepalive
  MonoTime stamp;  // of the answering node's clock
  // How long before `stamp` all nodes vouched; not set: not known.
  std::optional<absl::Duration> whole_ago;

  bool operator==(const KeepaliveAnswer&) const = default;
};

// At the worker of rank 0.
class Witness {
 public:
  Witness(AttemptRef ref, int32_t nodes) : ref_(ref), others_(static_cast<size_t>(nodes - 1)) {}

  // `vouches`: this node does so too. nullopt: it is of another attempt, or makes no sense.
  std::optional<KeepaliveAnswer> Answer(MonoTime now, const Keepalive& asked, bool vouches);
  // When all other nodes that are waited for were last there, vouching, or where none is, the last
  // of them; nullopt: they never were.
  std::optional<MonoTime> WholeAt() const;

 private:
  struct Other {
    MonoTime there;  // zero: never
    bool awaited = true;
  };
  AttemptRef ref_;
  std::vector<Other> others_;  // by node rank, from 1
};

// At the workers of the other nodes.
class Asker {
 public:
  Asker(AttemptRef ref, int32_t node_rank) : ref_(ref), node_rank_(node_rank) {}

  Keepalive Ask(MonoTime now, Vouch vouch);
  // When all nodes were last there, vouching, as far as this answer tells; nullopt: it does not.
  std::optional<MonoTime> OnAnswer(const KeepaliveAnswer& answer);
  // The last question was not answered, and will not be.
  void GiveUp() { asked_.reset(); }
  std::optional<MonoTime> asked() const { return asked_; }

 private:
  AttemptRef ref_;
  int32_t node_rank_;
  std::optional<MonoTime> asked_;  // an answer is awaited
  MonoTime echo_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_WITNESS_H_

// Decides who is missing when a collective fails. Pure: the ranks' answers go in, the verdict comes
// out. It is needed because neither Gloo nor NCCL names a rank.
#ifndef HPC_TRAIN_GROUP_VERDICT_H_
#define HPC_TRAIN_GROUP_VERDICT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpc::train {

// One collective operation. The ranks of a group enter the same ones in the same order, so that a
// number means the same operation on all of them. `what` describes it with name, type and size, and
// is also the same on all of them.
struct Collective {
  uint64_t number = 0;  // from 1; 0: none yet, or something before the first
  std::string what;     // "all_reduce 'gradients 2' of float[1000]"

  // Returns "collective 57, all_reduce 'gradients 2' of float[1000]", or `what` alone before the
  // first.
  std::string ToString() const;
};

// Says what is wrong, and with whom. All ranks of a group end with the same verdict, that of the
// first rank which reached one.
struct Verdict {
  std::vector<int> missing;  // in order; empty where no rank is to blame
  std::string reason;        // one line: a sentence without its full stop
};

// The answer of a rank about itself.
struct RankStatus {
  Collective entered;               // the last collective that it entered
  std::chrono::milliseconds ago{};  // how long ago
  std::optional<Verdict> verdict;   // set if it has failed already
};

struct RankAnswer {
  enum class Kind {
    kAnswered,
    kGone,         // nothing listens there any more: the process has ended
    kSilent,       // the connection stands, and no answer comes: stopped, or the PC hangs
    kUnreachable,  // no connection: the PC is off, or the network is cut
  };
  int rank = 0;
  std::optional<int> number;  // the verdict names the rank by it; unset: by its rank
  Kind kind = Kind::kAnswered;
  std::string endpoint;
  RankStatus status;  // set if it has answered
};

struct Failure {
  Collective collective;
  bool timed_out = false;  // false: a connection broke
  // "rank 1 saw: ...", for a failure in which nobody turns out to be missing.
  std::string seen;
};

// Returns the verdict of the rank that saw `failure`, from the answers of all others. If another
// rank has reached a verdict, that one is taken as it is. Otherwise the ranks to blame are those of
// the first kind that occurs: gone or unreachable; silent; in another collective of the same
// number; not there yet (only if the deadline had passed). If there are none, the network is to
// blame.
Verdict Judge(const Failure& failure, const std::vector<RankAnswer>& answers);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_VERDICT_H_

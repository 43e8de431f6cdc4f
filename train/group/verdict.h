// Who is missing when a collective fails. Pure: what the ranks answered goes in, the verdict comes
// out. Neither Gloo nor NCCL names a rank.
#ifndef HPC_TRAIN_GROUP_VERDICT_H_
#define HPC_TRAIN_GROUP_VERDICT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpc::train {

// One collective operation. The ranks of a group enter the same ones in the same order, so that one
// number means the same on all of them; `what` says it in words, with name, type and size, and is
// the same on all of them too.
struct Collective {
  uint64_t number = 0;  // from 1; 0: none yet, or what comes before the first
  std::string what;     // "all_reduce 'gradients 2' of float[1000]"

  // "collective 57, all_reduce 'gradients 2' of float[1000]"; `what` before the first
  std::string ToString() const;
};

// What is wrong, and with whom. All ranks of a group end with the verdict of the first that reached
// one.
struct Verdict {
  std::vector<int> missing;  // in order; empty where no rank is to blame
  std::string reason;        // one line, a sentence without its full stop
};

// What a rank says of itself.
struct RankStatus {
  Collective entered;               // the last that it entered
  std::chrono::milliseconds ago{};  // when
  std::optional<Verdict> verdict;   // it has failed already
};

struct RankAnswer {
  enum class Kind {
    kAnswered,
    kGone,         // nothing listens there any more: the process has ended
    kSilent,       // the connection stands, and no answer comes: stopped, or the PC hangs
    kUnreachable,  // no connection: the PC is off, or the network is cut
  };
  int rank = 0;
  std::optional<int> number;  // by which the verdict's words name it; else its rank
  Kind kind = Kind::kAnswered;
  std::string endpoint;
  RankStatus status;  // if answered
};

struct Failure {
  Collective collective;
  bool timed_out = false;  // else a connection broke
  std::string seen;        // "rank 1 saw: ...", for where nobody turns out to be missing
};

// The verdict of the rank that saw `failure`, from the answers of all others. One that another rank
// has reached is taken over as it is. Else the ranks to blame are those of the first kind that
// occurs: gone or unreachable, silent, in another collective of the same number, not there yet
// (only if the failure was the deadline's). If there is none, the network is to blame.
Verdict Judge(const Failure& failure, const std::vector<RankAnswer>& answers);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_VERDICT_H_

// What stands before a rank's lines. Pure.
#ifndef HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_
#define HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_

#include <map>
#include <string>

#include "hpc/v1/run.pb.h"

namespace hpc::client {

enum class Labelling {
  kAuto,    // unless the attempt has only one rank
  kAlways,  // even then
  kNever,
  kRaw,  // never, and only one rank is shown: nothing can mix
};

// "[3] "; on a terminal "[3 pc2] " in a colour of its own.
class RankLabels {
 public:
  RankLabels(Labelling labelling, bool colours) : labelling_(labelling), colours_(colours) {}

  // Whether For needs to Learn about this attempt first.
  bool Needs(int attempt) const;
  void Learn(const v1::RunDetail& detail);
  // Where nothing could be learnt: labelled with the rank alone.
  void LearnNothing(int attempt) { attempts_[attempt]; }

  // Whether all of the attempt's output comes from one rank, so that bytes may pass as they come.
  bool Single(int attempt) const;
  // "" when the rank is not labelled.
  std::string For(int attempt, int rank) const;

 private:
  struct Attempt {
    bool single = false;
    std::map<int, std::string> first_ranks;  // of each node, to its name
  };
  Labelling labelling_;
  bool colours_;
  std::map<int, Attempt> attempts_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_

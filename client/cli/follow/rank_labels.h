// The labels before a rank's lines. Pure.
#ifndef HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_
#define HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_

#include <map>
#include <string>

#include "hpc/v1/run.pb.h"

namespace hpc::client {

enum class Labelling {
  kAuto,    // labels, unless the attempt has only one rank
  kAlways,  // labels even then
  kNever,
  kRaw,  // no labels; only one rank is shown, so nothing can mix
};

// Makes labels such as "[3] ", or on a terminal "[3 pc2] " in a colour of its own.
class RankLabels {
 public:
  RankLabels(Labelling labelling, bool colours) : labelling_(labelling), colours_(colours) {}

  // Returns whether Learn must be called for this attempt before For.
  bool Needs(int attempt) const;
  void Learn(const v1::RunDetail& detail);
  // Says that nothing could be learnt. The label is then the rank alone.
  void LearnNothing(int attempt) { attempts_[attempt]; }

  // Returns whether all of the attempt's output comes from one rank, so that bytes may pass as they
  // come.
  bool Single(int attempt) const;
  // Returns "" when the rank is not labelled.
  std::string For(int attempt, int rank) const;

 private:
  struct Attempt {
    bool single = false;
    std::map<int, std::string> first_ranks;  // the first rank of each node, with the node's name
  };
  Labelling labelling_;
  bool colours_;
  std::map<int, Attempt> attempts_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_RANK_LABELS_H_

// Finds what is wrong with a gang: measurements go in, sentences come out. Pure.
#ifndef HPC_TRAIN_CHECK_FINDINGS_H_
#define HPC_TRAIN_CHECK_FINDINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "train/check/link_probe.h"

namespace hpc::train {

struct RankFacts {
  std::string host;
  std::string program;  // the version of hpc-train
  std::string torch;    // the version of LibTorch
};

struct PairResult {
  int a = 0, b = 0;   // the ranks; a < b
  LinkSpeed speed;    // rank a called, and rank b answered
  std::string error;  // if not empty, says why there is no speed
};

struct ReduceResult {
  int64_t bytes = 0;
  double seconds = 0;        // for one all-reduce, on the slowest rank
  std::vector<int> wrong{};  // the ranks whose sum is not exact
};

// The times of a step that is repeated. The fastest is what the PC can do, whatever else runs there
// meanwhile.
struct Repeated {
  double fastest = 0;
  // The slowest one without the slowest tenth, and without one in any case: a hiccup says nothing.
  // Where there were one or two, it is the fastest.
  double slow = 0;
};
Repeated OfRepetitions(std::vector<double> seconds);  // takes at least one

struct StepResult {
  std::vector<Repeated> alone;  // by rank: a step without the others
  double together = 0;          // seconds of the fastest step whose gradients were averaged
};

struct GangResult {
  std::vector<RankFacts> ranks;
  std::vector<ReduceResult> reduces;
  std::vector<PairResult> pairs;
  StepResult step;
};

// Returns the speed of the slower direction, in bytes per second.
double SlowerWay(const LinkSpeed& speed);

// Returns the bytes per second that each link of a ring would carry in this all-reduce of `ranks`
// ranks. This can be compared with what a network carries, whatever the number of ranks (nccl-tests
// calls it the bus bandwidth).
double BusBandwidth(const ReduceResult& reduce, int ranks);

// Returns "117 MB/s", in units of 10^6 bytes, or "2.12 GB/s". It has at most 10 characters from 1
// kB/s to 1 TB/s.
std::string SpeedWords(double bytes_per_second);
std::string TimeWords(double seconds);  // "0.21 ms", "2.3 s"

// Returns one sentence for each finding, the worst first, or none where nothing is wrong. A
// sentence names the PC or the two PCs that it is about, what was measured, and what others have.
// The order is: sums that are wrong; PCs that do not reach each other; versions that differ; links
// that are slow beside the others, or have the speed of a 100 Mbit/s port; one direction that is
// slower than the other; PCs that are far away; PCs that compute slowly; PCs whose times vary so
// much that something else must run there. Ranks of one PC are not compared with those of others.
std::vector<std::string> FindingsOf(const GangResult& gang);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_FINDINGS_H_

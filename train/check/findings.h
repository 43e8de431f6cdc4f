// What is wrong with a gang: what was measured goes in, sentences come out. Pure.
#ifndef HPC_TRAIN_CHECK_FINDINGS_H_
#define HPC_TRAIN_CHECK_FINDINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "train/check/link_probe.h"

namespace hpc::train {

struct RankFacts {
  std::string host;
  std::string program;  // version of hpc-train
  std::string torch;    // of LibTorch
};

struct PairResult {
  int a = 0, b = 0;   // ranks, a < b
  LinkSpeed speed;    // a called, b answered
  std::string error;  // not empty: why there is no speed
};

struct ReduceResult {
  int64_t bytes = 0;
  double seconds = 0;        // of one all-reduce, of the slowest rank
  std::vector<int> wrong{};  // ranks with a sum that is not exact
};

// A step is repeated: its fastest time is what the PC can do, whatever else runs there meanwhile.
struct Repeated {
  double fastest = 0;
  double slow = 0;  // the slowest but one, as one hiccup says nothing; of two or one the fastest
};
Repeated OfRepetitions(std::vector<double> seconds);  // at least one

struct StepResult {
  std::vector<Repeated> alone;  // seconds of a step of each rank, without the others
  double together = 0;          // of the fastest step with gradients made their mean
};

struct GangResult {
  std::vector<RankFacts> ranks;
  std::vector<ReduceResult> reduces;
  std::vector<PairResult> pairs;
  StepResult step;
};

// The slower of both ways, in bytes per second.
double SlowerWay(const LinkSpeed& speed);

// Bytes per second that each link of a ring would carry in this all-reduce of `ranks` ranks: what a
// network can be compared with, whatever their number (nccl-tests calls it the bus bandwidth).
double BusBandwidth(const ReduceResult& reduce, int ranks);

// "117 MB/s", of 10^6 bytes; "2.12 GB/s". At most 10 characters from 1 kB/s to 1 TB/s.
std::string SpeedWords(double bytes_per_second);
std::string TimeWords(double seconds);  // "0.21 ms", "2.3 s"

// One sentence each, the worst first; none where nothing is wrong. Named are the PC or the two that
// it is about, what was measured and what others have. In this order: sums that are wrong, PCs that
// do not reach each other, versions that differ, links that are slow beside the others or have the
// speed of a 100 Mbit/s port, one way slower than the other, far-away PCs, PCs that compute slowly,
// PCs whose times vary so much that something else must run there.
// Ranks of one PC are not compared with those of others.
std::vector<std::string> FindingsOf(const GangResult& gang);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_FINDINGS_H_

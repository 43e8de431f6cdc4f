// Waiting times between tries: doubling, bounded, spread by jitter. Pure.
#ifndef HPC_COMMON_BACKOFF_H_
#define HPC_COMMON_BACKOFF_H_

#include "absl/time/time.h"

namespace hpc {

class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration max) : first_(first), max_(max), next_(first) {}

  // Returns the next wait, multiplied by a factor from 0.5 to 1. `unit`, a number from 0 to 1 that
  // the caller draws at random, picks that factor.
  absl::Duration Next(double unit);
  void Reset() { next_ = first_; }

 private:
  absl::Duration first_, max_, next_;
};

}  // namespace hpc

#endif  // HPC_COMMON_BACKOFF_H_

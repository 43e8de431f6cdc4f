// Tells whoever waits for a run what its state means. Pure.
#ifndef HPC_CLIENT_RUN_STATE_H_
#define HPC_CLIENT_RUN_STATE_H_

#include <algorithm>

#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns whether the run has ended and will not start again.
inline bool IsOver(v1::RunState state) {
  return state == v1::RUN_STATE_SUCCEEDED || state == v1::RUN_STATE_FAILED ||
         state == v1::RUN_STATE_CANCELLED || state == v1::RUN_STATE_TIMED_OUT;
}

// Returns whether the run has a time that it took: an attempt of it is under way and runs, or the
// run is over.
inline bool HasRunTime(v1::RunState state) {
  return state == v1::RUN_STATE_RUNNING || state == v1::RUN_STATE_STOPPING || IsOver(state);
}

// Returns whether at least one rank was started, so that there may be output.
inline bool AnyRankRan(const v1::RunDetail& detail) {
  return std::any_of(detail.ranks().begin(), detail.ranks().end(),
                     [](const v1::Rank& rank) { return rank.pid() != 0; });
}

}  // namespace hpc::client

#endif  // HPC_CLIENT_RUN_STATE_H_

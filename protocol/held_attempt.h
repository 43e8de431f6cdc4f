// What a connecting worker says about an attempt that it still has: HeldAttempt in
// proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_HELD_ATTEMPT_H_
#define HPC_PROTOCOL_HELD_ATTEMPT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "protocol/halt.h"
#include "protocol/rank_exit.h"

namespace hpc::protocol {

struct HeldRank {
  int32_t rank = 0;
  int64_t pid = 0;
  std::optional<RankExit> exit;
  RankAges ago;
};

struct HeldAttempt {
  AttemptRef ref;
  bool started = false;
  bool returned = false;  // it is all over there; only its files are left
  std::vector<HeldRank> ranks;
  Halt halt;  // kNone: the node did not end it by itself
  // Set if it served the rendezvous store, which died with an earlier worker: so long ago or
  // longer.
  std::optional<absl::Duration> store_lost;
  bool witnessed = false;  // whether it was started as a witnessed attempt
  // It ended with an earlier boot of the PC, so that its ages, by a clock that counts from the
  // boot, say nothing.
  bool before_boot = false;
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_HELD_ATTEMPT_H_

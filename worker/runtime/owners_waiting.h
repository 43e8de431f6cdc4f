// Those who have asked, on this PC, to get it back or to lend it again, and wait for the answer.
#ifndef HPC_WORKER_RUNTIME_OWNERS_WAITING_H_
#define HPC_WORKER_RUNTIME_OWNERS_WAITING_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/owner/owner_keeper.h"

namespace hpc::worker {

struct OwnerAnswer {
  absl::Duration took;
  bool saved = true;  // false: for now, a restart of the worker would forget it
};
using OnOwnerAnswer = std::function<void(const OwnerAnswer&)>;

class OwnersWaiting {
 public:
  // Saving the wish delays an answer by this at most.
  static constexpr absl::Duration kSavePatience = absl::Seconds(2);

  explicit OwnersWaiting(const OwnerKeeper* keeper) : keeper_(keeper) {}

  // `pc_free`: the answer waits until nothing runs here for the cluster any more.
  void Await(MonoTime now, bool pc_free, OnOwnerAnswer done) {
    waiting_.push_back({now, pc_free, std::move(done)});
  }
  // Answers those whose wish is fulfilled. To be called after each round of the loop, and once
  // kSavePatience after Await.
  void Answer(MonoTime now, bool pc_is_free);
  // Whether what was asked for at that time is still being saved, and is to be waited for.
  bool IsSaving(MonoTime asked, MonoTime now) const;

 private:
  struct Waiting {
    MonoTime asked;
    bool pc_free;
    OnOwnerAnswer done;
  };
  const OwnerKeeper* const keeper_;
  std::vector<Waiting> waiting_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_OWNERS_WAITING_H_

#include "worker/runtime/owners_waiting.h"

#include <utility>

namespace hpc::worker {

void OwnersWaiting::Answer(MonoTime now, bool pc_is_free) {
  if (waiting_.empty()) return;
  const bool saved = keeper_->outcome() == OwnerKeeper::Outcome::kSaved;
  // An answer may bring the next wish.
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (IsSaving(one.asked, now) || (one.pc_free && !pc_is_free)) {
      waiting_.push_back(std::move(one));
    } else {
      one.done({now - one.asked, saved});
    }
  }
}

bool OwnersWaiting::IsSaving(MonoTime asked, MonoTime now) const {
  return keeper_->outcome() == OwnerKeeper::Outcome::kSaving && now < asked + kSavePatience;
}

}  // namespace hpc::worker

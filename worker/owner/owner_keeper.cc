#include "worker/owner/owner_keeper.h"

#include <utility>

#include "absl/status/status.h"
#include "common/process/log.h"
#include "worker/owner/owner_file.h"

namespace hpc::worker {

OwnerKeeper::OwnerKeeper(Background* disk, std::string state_dir)
    : disk_(disk), state_dir_(std::move(state_dir)) {}

OwnerKeeper::~OwnerKeeper() { *alive_ = false; }

void OwnerKeeper::Save(const OwnerState& state) {
  unwritten_ = state;
  outcome_ = Outcome::kSaving;
  if (!on_way_) Write();
}

void OwnerKeeper::Write() {
  on_way_ = true;
  disk_->Ask<absl::Status>(
      [dir = state_dir_, state = *std::exchange(unwritten_, std::nullopt)] {
        return WriteOwnerFile(dir, state);
      },
      [this, alive = alive_](const absl::Status& saved) {
        if (!saved.ok()) {
          LogError("the owner's wish holds, but would not survive a restart of the worker",
                   {{"error", saved.ToString()}});
        }
        if (!*alive) return;
        on_way_ = false;
        if (unwritten_) return Write();
        outcome_ = saved.ok() ? Outcome::kSaved : Outcome::kRefused;
      });
}

}  // namespace hpc::worker

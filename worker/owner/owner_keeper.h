// Keeps the owner's wish on disk without waiting for it.
#ifndef HPC_WORKER_OWNER_OWNER_KEEPER_H_
#define HPC_WORKER_OWNER_OWNER_KEEPER_H_

#include <memory>
#include <optional>
#include <string>

#include "worker/core/owner_state.h"
#include "worker/loop/background.h"

namespace hpc::worker {

// For the loop's thread only.
class OwnerKeeper {
 public:
  // `disk` is the thread of the state directory; it outlives the keeper.
  OwnerKeeper(Background* disk, std::string state_dir);
  ~OwnerKeeper();
  OwnerKeeper(const OwnerKeeper&) = delete;
  OwnerKeeper& operator=(const OwnerKeeper&) = delete;

  // If several states wait for the disk, only the newest is written.
  void Save(const OwnerState& state);

  enum class Outcome { kSaved, kSaving, kRefused };
  // What became of the newest state. kRefused was reported in the log.
  Outcome outcome() const { return outcome_; }

 private:
  void Write();

  Background* const disk_;
  const std::string state_dir_;
  std::optional<OwnerState> unwritten_;
  bool on_way_ = false;
  Outcome outcome_ = Outcome::kSaved;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_OWNER_KEEPER_H_

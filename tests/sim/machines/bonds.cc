#include "tests/sim/machines/bonds.h"

#include "tests/sim/machines/supervisor.h"

namespace hpc::sim {

void Bonds::Closed(AttemptRef ref) {
  const auto found = gangs_.find(ref);
  if (found == gangs_.end()) return;
  for (const std::weak_ptr<Supervisor>& weak : found->second) {
    if (const auto supervisor = weak.lock()) supervisor->OnPeerClosed();
  }
}

}  // namespace hpc::sim

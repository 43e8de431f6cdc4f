// A whole cluster in one thread: a coordinator and its disk, PCs and their owners, users,
// accidents.
#ifndef HPC_TESTS_SIM_WORLD_H_
#define HPC_TESTS_SIM_WORLD_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/machines/bonds.h"
#include "tests/sim/machines/coordinator.h"
#include "tests/sim/machines/disk.h"
#include "tests/sim/machines/pc.h"
#include "tests/sim/people/clients.h"
#include "tests/sim/people/owner.h"
#include "tests/sim/watch.h"

namespace hpc::sim {

struct Result {
  std::string invariant;  // "": all invariants held
  std::string text;
  std::vector<std::string> trace;
  bool ok() const { return invariant.empty(); }
};

class World {
 public:
  World(const Options& options, bool traced);
  Result Run();

 private:
  // ---- the coordinator's process
  void StartCoordinator();
  void CoordinatorDied();
  // ---- accidents (accidents.cc)
  void BeginAccidents();
  void Repeat(const char* rate, void (World::*accident)());
  Pc& AnyPc();
  absl::Duration HowLong(absl::Duration least, absl::Duration most);
  void Cut();
  void CutPeers();
  void ResetLink();
  void Blip();
  void WorkerCrash();
  void WorkerFreeze();
  void WorkerUpgrade();
  void SupervisorCrash();
  void SupervisorFreeze();
  void PowerLoss();
  void ShutDown();
  void Suspend();
  void CoordinatorCrash();
  void CoordinatorFreeze();
  void DiskFull();
  // ---- time
  void Look();
  void RunUntil(MonoTime at);
  void Heal();
  bool AllOver() const;
  void Settle();
  void CheckOver();

  Context context_;
  Census census_;
  Bonds bonds_;
  Peers peers_;
  Disk disk_;
  std::vector<std::unique_ptr<Pc>> pcs_;
  std::vector<std::unique_ptr<Owner>> owners_;
  std::shared_ptr<Coordinator> coordinator_;
  bool coordinator_frozen_ = false;
  Clients clients_;
  Watch watch_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_WORLD_H_

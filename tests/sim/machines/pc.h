// One PC: its power, its disk, its supervisors, and the worker process that comes and goes.
#ifndef HPC_TESTS_SIM_MACHINES_PC_H_
#define HPC_TESTS_SIM_MACHINES_PC_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/values/records.h"
#include "protocol/inventory.h"
#include "protocol/prepare.h"
#include "tests/sim/machines/bonds.h"
#include "tests/sim/machines/link.h"
#include "tests/sim/machines/peers.h"
#include "tests/sim/machines/supervisor.h"
#include "tests/sim/truth/census.h"
#include "worker/core/owner_state.h"

namespace hpc::sim {

class Worker;

class Pc {
 public:
  // What the worker keeps of an attempt on disk.
  struct Folder {
    protocol::Prepare prepare;
    std::shared_ptr<Supervisor> supervisor;  // none while the attempt is still being prepared
    bool witnessed = false;
    std::string boot_id;  // in which it was made
  };
  using FindCoordinator = std::function<std::weak_ptr<CoordinatorEnd>()>;
  Pc(Context* context, Census* census, Bonds* bonds, Peers* peers, int index,
     FindCoordinator coordinator);

  const std::string& name() const { return name_; }
  const std::string& address() const { return address_; }
  std::string boot_id() const { return absl::StrCat("boot-", boots_); }
  const protocol::Inventory& inventory() const { return inventory_; }
  Now now() const;
  Gate* gate() { return &gate_; }
  // What the PC's monotonic clock shows at a moment. That clock stands still while the PC is
  // suspended.
  MonoTime MonoOf(MonoTime moment) const { return moment - slept_; }
  MonoTime MomentOf(MonoTime mono) const { return mono + slept_; }
  Link& link() { return link_; }
  Peers& peers() { return *peers_; }
  Graces& graces() { return census_->graces(); }
  // Whether its worker has a version that can vouch for attempts.
  bool can_vouch() const { return can_vouch_; }
  const FindCoordinator& coordinator() const { return coordinator_; }

  bool on() const { return power_ == Power::kOn; }
  Worker* worker() { return worker_.get(); }
  // Changes whenever the PC or its worker has died or stood still, or its owner has changed.
  uint64_t quiet() const { return quiet_; }
  void SaveOwner(const worker::OwnerState& state);
  // Its worker is told to end.
  void NoteToldToEnd() { told_to_end_ = now().mono; }
  // How long ago a worker was told to end on this boot.
  std::optional<absl::Duration> SinceToldToEnd() const;
  // How long the PC was suspended since this was last asked.
  absl::Duration TakeSlept() { return std::exchange(slept_untold_, {}); }

  // ---- what happens to the worker
  void StartWorker();
  void CrashWorker();
  void FreezeWorker(absl::Duration d);
  void WorkerEnded();  // it ended by itself, and the service manager starts it again
  // ---- what happens to the PC
  void PowerLoss(absl::Duration off);
  // Its processes are told to end, in any order, and then it is off for a while.
  void ShutDown(absl::Duration off);
  void Suspend(absl::Duration asleep);  // Infinite: until it is woken
  void TurnOff();                       // until it is woken
  void WakePacket();
  void CrashSupervisor();
  // The supervisors stand still for `d`.
  void FreezeSupervisors(absl::Duration d);
  void HealAll();

  // ---- its disk
  worker::OwnerState owner;
  std::map<AttemptRef, Folder> folders;

  std::shared_ptr<Supervisor> MakeSupervisor(const protocol::Prepare& prepare,
                                             absl::Duration lease);

 private:
  enum class Power { kOn, kSuspended, kOff };
  void WakeUp();
  void Boot();
  void Resume();
  void KillEverything();

  Context* context_;
  Census* census_;
  Bonds* bonds_;
  Peers* peers_;
  const std::string name_, address_;
  FindCoordinator coordinator_;
  protocol::Inventory inventory_;
  Link link_;
  Gate gate_;
  Power power_ = Power::kOn;
  int boots_ = 1;
  uint64_t power_changes_ = 0;
  MonoTime suspended_at_{};
  absl::Duration slept_, slept_untold_;
  absl::Duration wall_skew_;
  bool can_vouch_;
  std::shared_ptr<Worker> worker_;
  uint64_t quiet_ = 0;
  std::optional<MonoTime> told_to_end_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_PC_H_

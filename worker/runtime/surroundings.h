// Keeps up to date what the worker knows about its own PC, without blocking the loop.
#ifndef HPC_WORKER_RUNTIME_SURROUNDINGS_H_
#define HPC_WORKER_RUNTIME_SURROUNDINGS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net/endpoint.h"
#include "protocol/inventory.h"
#include "worker/loop/background.h"
#include "worker/os/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

class Surroundings {
 public:
  static constexpr absl::Duration kInventoryInterval = absl::Minutes(1);
  static constexpr absl::Duration kUsageInterval = absl::Seconds(10);

  Surroundings(Background* background, HostProbe* host, DeviceProbe* devices, AsTold told);

  const std::string& boot_id() const { return boot_id_; }
  const protocol::Inventory& inventory() const { return inventory_; }

  // Finds the address that traffic to `coordinator` leaves from, refreshes the inventory, and then
  // calls `done`. A name is looked up each time, since its address may change.
  void Look(const Endpoint& coordinator, std::function<void(absl::StatusOr<std::string>)> done);

  // To be called with each heartbeat. Refreshes what is due. `on_inventory` is called if the PC
  // offers something else than before.
  void Heartbeat(MonoTime now, std::function<void()> on_inventory);
  // What the devices do, if it was read since the last call; otherwise empty.
  std::vector<DeviceUsage> TakeUsage();

  // How long the machine was suspended since the last call; zero unless it is more than a second.
  absl::Duration TakeSuspended();

 private:
  Background* const background_;
  HostProbe* const host_;
  DeviceProbe* const devices_;
  const AsTold told_;
  const std::string boot_id_;
  protocol::Inventory inventory_;
  std::vector<DeviceUsage> usage_;
  bool usage_fresh_ = false;
  bool busy_ = false;
  MonoTime next_inventory_;
  MonoTime next_usage_;
  absl::Duration suspended_;
};

// The address of this machine that reaches `coordinator`; 127.0.0.1 if that is on this machine.
// Unavailable: its name is not known, or there is no route. May block on a name server.
absl::StatusOr<std::string> FindOwnAddress(const Endpoint& coordinator, HostProbe* host);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_SURROUNDINGS_H_

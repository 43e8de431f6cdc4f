// What the worker asks of the machine. Each part is behind an interface, so that a test can replace
// it.
#ifndef HPC_WORKER_OS_SEAMS_H_
#define HPC_WORKER_OS_SEAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protocol/inventory.h"

namespace hpc::worker {

struct DeviceProcess {
  int64_t pid = 0;
  bool graphics = false;     // NVML's type G: a game or a desktop
  int64_t memory_bytes = 0;  // 0: unknown
  std::string command;
  bool operator==(const DeviceProcess&) const = default;
};

struct DeviceUsage {
  int32_t index = 0;
  std::optional<int32_t> utilisation_percent;
  int64_t memory_used_bytes = 0;  // 0: unknown
  std::vector<DeviceProcess> processes;
  bool operator==(const DeviceUsage&) const = default;
};

// Finds devices, and tells what they are doing.
class DeviceProbe {
 public:
  virtual ~DeviceProbe() = default;
  // The devices in a stable order (PCI bus order for GPUs), with the indices 0, 1, 2 ...
  virtual std::vector<protocol::Device> Devices() = 0;
  virtual std::vector<DeviceUsage> Usage() = 0;
  virtual std::string DriverVersion() = 0;  // "" when none
  // Why the GPUs that the PC seems to have cannot be used; "" when nothing is known to be wrong.
  virtual std::string GpuTrouble() { return ""; }
};

class HostProbe {
 public:
  virtual ~HostProbe() = default;
  // The part of the inventory that needs no driver.
  virtual protocol::Inventory Read() = 0;
  virtual std::string BootId() = 0;
  // How long the machine has spent suspended since it booted (CLOCK_BOOTTIME - CLOCK_MONOTONIC). If
  // it grows by more than a second between two readings, the machine has slept.
  virtual absl::Duration SuspendedTime() = 0;
  // The address of this machine that traffic to `peer` (IP literal) leaves from.
  virtual absl::StatusOr<std::string> SourceAddressFor(const std::string& peer) = 0;
  // The name of the interface that holds `address` ("eth0", "lo"). NotFound: no interface does.
  virtual absl::StatusOr<std::string> InterfaceOf(const std::string& address) = 0;
};

// What an interpreter has installed: "python", "torch", "cuda", "nccl". Also says whether its torch
// can be a client of a store that it does not host itself: it must be built with libuv, or be so
// old that it does not need it.
struct PythonFacts {
  std::vector<std::pair<std::string, std::string>> facts;
  bool has_torch = false;
  bool store_client_ok = true;
};

class PythonProbe {
 public:
  virtual ~PythonProbe() = default;
  // `program` is the resolved path of a command. If it is not a Python interpreter the result is
  // OK, with empty facts. `env` is the environment in which it will run. `launcher` is a program
  // with arguments through which it is run, with path and argv behind them; empty: none. Answers
  // are cached by path, size and modification time; the first one of an interpreter takes about 100
  // ms.
  virtual absl::StatusOr<PythonFacts> Probe(const std::string& program,
                                            const std::vector<std::string>& env,
                                            const std::vector<std::string>& launcher) = 0;
};

// Puts the machine to sleep, or off, and knows when somebody else does.
class Power {
 public:
  virtual ~Power() = default;
  // Runs the configured power command (default: logind's suspend). Returns once it was accepted. If
  // it fails, the status has the command's own words.
  virtual absl::Status Sleep() = 0;
  // Whether the machine is being shut down or put to sleep at this moment. Takes two seconds at
  // most.
  virtual bool GoingDown() = 0;
  // Whether the machine shall not suspend itself, since ranks run. To be said again and again,
  // since it does not wait, and does nothing while Sleep begins or where nobody suspends machines.
  virtual void KeepAwake(bool awake) = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_SEAMS_H_

// What this machine is: processor, memory, disks, network, system.
#ifndef HPC_WORKER_OS_HOST_PROBE_H_
#define HPC_WORKER_OS_HOST_PROBE_H_

#include <memory>
#include <string>

#include "worker/os/seams.h"

namespace hpc::worker {

struct HostProbeOptions {
  std::string state_dir;  // the disk that holds it is always listed
  std::string root;       // in front of /proc, /sys and /etc; "" but in tests
};

// Reads Linux's own files and calls. What cannot be read is left empty or 0: an inventory with a
// gap is of more use than none.
std::unique_ptr<HostProbe> MakeHostProbe(HostProbeOptions options);

// What the processor calls itself; "" where the kernel names none.
std::string ProcessorName();

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_HOST_PROBE_H_

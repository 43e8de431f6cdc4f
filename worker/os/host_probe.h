// What this machine is: processor, memory, disks, network, system.
#ifndef HPC_WORKER_OS_HOST_PROBE_H_
#define HPC_WORKER_OS_HOST_PROBE_H_

#include <memory>
#include <string>

#include "worker/os/seams.h"

namespace hpc::worker {

struct HostProbeOptions {
  std::string state_dir;  // the disk that holds it is always listed
  std::string root;       // in front of /proc, /sys and /etc; "" except in tests
};

// Reads Linux's own files and calls. What cannot be read is left empty or 0, since an inventory
// with a gap is more useful than none.
std::unique_ptr<HostProbe> MakeHostProbe(HostProbeOptions options);

// The name that the processor gives itself; "" if the kernel tells none.
std::string ProcessorName();

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_HOST_PROBE_H_

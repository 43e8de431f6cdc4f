// The addresses of this machine's interfaces. They are listed again only once something about them
// has changed.
#ifndef HPC_WORKER_OS_INTERFACE_WATCH_H_
#define HPC_WORKER_OS_INTERFACE_WATCH_H_

#include <mutex>
#include <vector>

#include "common/unique_fd.h"
#include "worker/os/network.h"

namespace hpc::worker {

// May be used from any thread. If the kernel does not tell of changes, every call lists them.
class InterfaceWatch {
 public:
  // Watches the network namespace in which Get is called first.
  InterfaceWatch() = default;

  // The addresses at this moment, as ListInterfaceAddresses gives them.
  std::vector<InterfaceAddress> Get();

 private:
  // Whether something changed since the last call, or may have.
  bool TakeChange();

  std::mutex mutex_;
  UniqueFd changes_;  // netlink
  std::vector<InterfaceAddress> addresses_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_INTERFACE_WATCH_H_

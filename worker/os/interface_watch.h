// The addresses of this machine's interfaces, listed again only once something about them changed.
#ifndef HPC_WORKER_OS_INTERFACE_WATCH_H_
#define HPC_WORKER_OS_INTERFACE_WATCH_H_

#include <mutex>
#include <vector>

#include "common/unique_fd.h"
#include "worker/os/network.h"

namespace hpc::worker {

// For any threads. Where the kernel does not tell of changes every call lists them.
class InterfaceWatch {
 public:
  // Of the network namespace that the first call of Get is made in.
  InterfaceWatch() = default;

  // As ListInterfaceAddresses, at this moment.
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

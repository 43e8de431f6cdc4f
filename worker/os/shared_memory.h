// Shared memory that programs leave behind when they are killed.
#ifndef HPC_WORKER_OS_SHARED_MEMORY_H_
#define HPC_WORKER_OS_SHARED_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hpc::worker {

inline constexpr char kSharedMemoryDir[] = "/dev/shm";

struct SharedMemoryRemoved {
  int files = 0;
  int64_t bytes = 0;
};

// Python's resource tracker, torch_shm_manager and NCCL remove shared memory once its program has
// ended, unless they are killed with it. Then it stays until the PC is started again, and takes
// memory away from all later runs. This removes what `account` has left in `dir`, if no process of
// that account lives: nobody can need it any more. Only files with names that these libraries give
// are removed, since people keep data there, too.
SharedMemoryRemoved RemoveSharedMemory(const std::string& dir, uid_t account);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_SHARED_MEMORY_H_

// Wakes a thread that waits in poll(2).
#ifndef HPC_COMMON_PROCESS_BELL_H_
#define HPC_COMMON_PROCESS_BELL_H_

#include <sys/eventfd.h>

#include "common/unique_fd.h"

namespace hpc {

// Once it is rung, its descriptor can be read (POLLIN) until it is silenced. Thread-safe.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Returns whether a descriptor was left for it. A bell that is not ok never rings.
  bool ok() const { return fd_.ok(); }
  int fd() const { return fd_.get(); }
  void Ring() const { eventfd_write(fd_.get(), 1); }
  void Silence() const {
    eventfd_t rung = 0;
    eventfd_read(fd_.get(), &rung);
  }

 private:
  const UniqueFd fd_;
};

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_BELL_H_

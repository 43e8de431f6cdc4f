// A socket that somebody else owns and closes: whether it is open still, and a way to end it.
#ifndef HPC_COORDINATOR_RPC_DOORS_OPEN_SOCKET_H_
#define HPC_COORDINATOR_RPC_DOORS_OPEN_SOCKET_H_

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/unique_fd.h"

namespace hpc::coordinator {

class OpenSocket {
 public:
  explicit OpenSocket(int fd) : fd_(fd), inode_(InodeOf(fd)) {}

  int fd() const { return fd_; }
  // False as soon as its owner has closed it, though its number may belong to another one by then.
  bool IsOpen() const { return inode_ != 0 && InodeOf(fd_) == inode_; }

  // Ends the connection, which its owner then finds out. False if it was closed already.
  bool ShutDown() const {
    // Ours cannot be closed, and its number given away, between the question and the deed.
    const UniqueFd ours(fcntl(fd_, F_DUPFD_CLOEXEC, 0));
    if (!ours.ok() || inode_ == 0 || InodeOf(ours.get()) != inode_) return false;
    shutdown(ours.get(), SHUT_RDWR);
    return true;
  }

 private:
  // Of a socket; no two that are open have the same one. 0: it is none.
  static ino_t InodeOf(int fd) {
    struct stat info {};
    return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
  }

  int fd_;
  ino_t inode_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_OPEN_SOCKET_H_

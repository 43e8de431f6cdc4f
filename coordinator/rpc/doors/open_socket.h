// A socket that somebody else owns and closes. This tells whether it is still open, and can end it.
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
  // False as soon as the owner has closed the socket, even if its number belongs to another one by
  // then.
  bool IsOpen() const { return inode_ != 0 && InodeOf(fd_) == inode_; }

  // Ends the connection, which the owner then notices. False if it was closed already.
  bool ShutDown() const {
    // Nobody else can close our duplicate, so its number cannot change hands between the check and
    // the shutdown.
    const UniqueFd ours(fcntl(fd_, F_DUPFD_CLOEXEC, 0));
    if (!ours.ok() || inode_ == 0 || InodeOf(ours.get()) != inode_) return false;
    shutdown(ours.get(), SHUT_RDWR);
    return true;
  }

 private:
  // The inode of a socket. No two open sockets have the same one. 0: not a socket.
  static ino_t InodeOf(int fd) {
    struct stat info {};
    return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
  }

  int fd_;
  ino_t inode_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_OPEN_SOCKET_H_

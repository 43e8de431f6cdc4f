#include "worker/os/interface_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace hpc::worker {
namespace {

UniqueFd Subscribe() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (!fd.ok() || bind(fd.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0) {
    return UniqueFd();
  }
  // Holds enough to tell that something changed. That the buffer is full tells so, too.
  const int least = 1;
  (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
  return fd;
}

}  // namespace

bool InterfaceWatch::TakeChange() {
  if (!changes_.ok()) {
    // Subscribes before the addresses are listed, so that no change goes unseen.
    changes_ = Subscribe();
    return true;
  }
  bool changed = false;
  for (;;) {
    // Only that something changed matters, so a message longer than this may be cut.
    char message[64];
    if (recv(changes_.get(), message, sizeof message, 0) < 0) {
      // ENOBUFS: there were more messages than the socket holds.
      if (errno == EAGAIN) return changed;
      if (errno != EINTR && errno != ENOBUFS) {
        changes_.Reset();
        return true;
      }
    }
    changed = true;
  }
}

std::vector<InterfaceAddress> InterfaceWatch::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // No addresses means that they could not be listed before.
  if (TakeChange() || addresses_.empty()) addresses_ = ListInterfaceAddresses();
  return addresses_;
}

}  // namespace hpc::worker

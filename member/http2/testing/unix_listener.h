// A listener at a Unix socket, which need not be a coordinator.
#ifndef HPC_MEMBER_HTTP2_TESTING_UNIX_LISTENER_H_
#define HPC_MEMBER_HTTP2_TESTING_UNIX_LISTENER_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "common/unique_fd.h"

namespace hpc::wire::testing {

// Makes a socket file at `path`, which the caller must remove. It listens there while the result
// lives. `backlog` connections that were not accepted fit into its queue, and one more.
inline UniqueFd ListenAtSocket(const std::string& path, int backlog = 5) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(fd.get(), backlog), 0);
  return fd;
}

}  // namespace hpc::wire::testing

#endif  // HPC_MEMBER_HTTP2_TESTING_UNIX_LISTENER_H_

#include "worker/supervisor/protocol/passed_files.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>

namespace hpc::worker {
namespace {

constexpr size_t kMostControlBytes = CMSG_SPACE(kMostPassedFiles * sizeof(int));

void TakeFiles(const msghdr& message, std::vector<UniqueFd>* files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      files->emplace_back(fd);
    }
  }
}

}  // namespace

int SendFiles(int socket, const std::string& bytes, const std::vector<int>& files) {
  if (files.size() > kMostPassedFiles) return EINVAL;
  alignas(cmsghdr) char control[kMostControlBytes] = {};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    const size_t size = files.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(rights), files.data(), size);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

std::optional<PassedFiles> ReceiveFiles(int socket, size_t most_bytes) {
  PassedFiles received;
  received.bytes.resize(most_bytes);
  alignas(cmsghdr) char control[kMostControlBytes];
  iovec data{received.bytes.data(), received.bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  TakeFiles(message, &received.files);
  received.bytes.resize(static_cast<size_t>(n));
  return received;
}

}  // namespace hpc::worker

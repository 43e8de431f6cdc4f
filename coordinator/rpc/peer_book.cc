#include "coordinator/rpc/peer_book.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

constexpr int kRange = 16384;

int DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

std::string AccountOf(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : absl::StrCat("uid ", uid);
}

std::vector<gid_t> SupplementaryGroupsOf(int fd, gid_t primary) {
  std::vector<gid_t> groups(64);
  socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  if (rc != 0 && errno == ERANGE) {
    groups.resize(size / sizeof(gid_t));
    rc = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
  }
  groups.resize(rc == 0 ? size / sizeof(gid_t) : 0);
  groups.erase(std::remove(groups.begin(), groups.end(), primary), groups.end());
  return groups;
}

}  // namespace

PeerBook::PeerBook()
    : first_(std::max(0, DescriptorLimit() - kRange)), last_(DescriptorLimit()), next_(first_) {}

absl::StatusOr<UniqueFd> PeerBook::MoveIntoRange(UniqueFd connection) {
  int moved = fcntl(connection.get(), F_DUPFD_CLOEXEC, next_);
  if (moved < 0 && next_ != first_) moved = fcntl(connection.get(), F_DUPFD_CLOEXEC, first_);
  if (moved < 0) return ErrnoStatus(errno, "keep a connection");
  next_ = moved + 1 < last_ ? moved + 1 : first_;
  return UniqueFd(moved);
}

absl::StatusOr<UniqueFd> PeerBook::Enter(UniqueFd connection) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return ErrnoStatus(errno, "ask who has connected");
  }
  PeerCredentials peer{credentials.uid, AccountOf(credentials.uid),
                       SupplementaryGroupsOf(connection.get(), credentials.gid)};
  const std::lock_guard lock(mutex_);
  HPC_ASSIGN_OR_RETURN(UniqueFd fd, MoveIntoRange(std::move(connection)));
  peers_[fd.get()] = std::move(peer);
  return fd;
}

std::optional<PeerCredentials> PeerBook::Find(absl::string_view grpc_peer) const {
  int fd = -1;
  if (!absl::ConsumePrefix(&grpc_peer, "fd:") || !absl::SimpleAtoi(grpc_peer, &fd)) {
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(fd);
  if (found == peers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace hpc::coordinator

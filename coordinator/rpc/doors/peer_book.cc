#include "coordinator/rpc/doors/peer_book.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

// A person has a few connections; a script that follows its runs one by one has about a hundred.
constexpr int kMostPerAccount = 256;

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

PeerLimits PeerLimitsOf(const DescriptorPlan& plan) {
  const int range = plan.local_end - plan.tcp_end;
  return {.first = plan.tcp_end,
          .last = plan.local_end,
          .per_account = std::clamp(range / 4, 1, kMostPerAccount),
          .without_limit = {0, geteuid()},
          .all_accounts = range - range / 4};
}

UniqueFd PeerBook::MoveTo(int first, const UniqueFd& connection) const {
  UniqueFd moved(fcntl(connection.get(), F_DUPFD_CLOEXEC, first));
  return moved.get() < limits_.last ? std::move(moved) : UniqueFd();
}

absl::StatusOr<UniqueFd> PeerBook::MoveIntoRange(UniqueFd connection) {
  UniqueFd moved = MoveTo(next_, connection);
  if (!moved.ok()) moved = MoveTo(limits_.first, connection);
  if (!moved.ok()) {
    return absl::ResourceExhaustedError(
        "the limit of open files (LimitNOFILE) leaves no more connections to the Unix socket");
  }
  next_ = moved.get() + 1 < limits_.last ? moved.get() + 1 : limits_.first;
  return moved;
}

void PeerBook::DropClosed(uid_t uid) {
  std::erase_if(open_[uid], [this](int fd) { return !peers_.at(fd).connection.IsOpen(); });
}

size_t PeerBook::Limited() const {
  size_t count = 0;
  for (const auto& [uid, fds] : open_) {
    if (!limits_.without_limit.contains(uid)) count += fds.size();
  }
  return count;
}

absl::Status PeerBook::CheckRoom(const PeerCredentials& who) {
  const uid_t uid = who.uid;
  if (limits_.without_limit.contains(uid)) return absl::OkStatus();
  const auto limit = static_cast<size_t>(limits_.per_account);
  if (open_[uid].size() >= limit) DropClosed(uid);
  if (open_[uid].size() >= limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the account ", who.account, " has ", limit,
                     " connections to the Unix socket open, as many as one may have"));
  }
  const auto in_all = static_cast<size_t>(limits_.all_accounts);
  if (Limited() < in_all) return absl::OkStatus();
  for (auto& [account, fds] : open_) DropClosed(account);
  if (Limited() < in_all) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the account ", who.account, " cannot connect to the Unix socket: all ", in_all,
                   " connections that are not kept for root are taken"));
}

absl::StatusOr<UniqueFd> PeerBook::Enter(UniqueFd connection) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return ErrnoStatus(errno, "ask who has connected");
  }
  PeerCredentials who{credentials.uid, AccountOf(credentials.uid),
                      SupplementaryGroupsOf(connection.get(), credentials.gid)};
  const std::lock_guard lock(mutex_);
  HPC_RETURN_IF_ERROR(CheckRoom(who));
  HPC_ASSIGN_OR_RETURN(UniqueFd fd, MoveIntoRange(std::move(connection)));
  if (const auto before = peers_.find(fd.get()); before != peers_.end()) {
    open_[before->second.credentials.uid].erase(fd.get());
    peers_.erase(before);
  }
  open_[credentials.uid].insert(fd.get());
  peers_.emplace(fd.get(), Peer{std::move(who), OpenSocket(fd.get())});
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
  return found->second.credentials;
}

}  // namespace hpc::coordinator

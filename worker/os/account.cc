#include "worker/os/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "common/status_macros.h"

namespace hpc::worker {
namespace {

constexpr size_t kMaxGroups = 65536;

absl::StatusOr<std::vector<uint32_t>> GroupsOf(const std::string& name, gid_t gid) {
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  while (getgrouplist(name.c_str(), gid, groups.data(), &count) < 0) {
    if (groups.size() >= kMaxGroups) {
      return absl::FailedPreconditionError(
          absl::StrCat("the account '", name, "' is in too many groups"));
    }
    groups.resize(groups.size() * 2);
    count = static_cast<int>(groups.size());
  }
  return std::vector<uint32_t>(groups.begin(), groups.begin() + count);
}

absl::Status HowToMakeTheDefault() {
  return absl::FailedPreconditionError(absl::StrCat(
      "ranks never run as root, and this PC has no account '", Accounts::kDefault,
      "' for them: make it with\n  useradd --system --create-home --shell /usr/sbin/nologin ",
      Accounts::kDefault,
      "\nor name other accounts under [accounts] in the worker's configuration, or run the worker "
      "as a user instead of root"));
}

// Changes this thread alone; the C library's setgroups would change all threads.
void SetThreadGroups(const std::vector<uint32_t>& groups) {
  if (syscall(SYS_setgroups, groups.size(), groups.data()) != 0) {
    // Going on would mean acting with other rights than those of the account that was asked for.
    LogError("setgroups failed", {{"error", ErrnoStatus(errno, "setgroups").ToString()}});
    abort();
  }
}

}  // namespace

absl::StatusOr<Account> FindAccount(const std::string& name) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  int error;
  while ((error = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
         ERANGE) {
    buffer.resize(buffer.size() * 2);
  }
  if (error != 0 && error != ENOENT) {
    return ErrnoStatus(error, absl::StrCat("look up the account '", name, "'"));
  }
  if (found == nullptr) {
    return absl::NotFoundError(absl::StrCat("this PC has no account '", name, "'"));
  }
  if (entry.pw_uid == kSupervisorUid) {
    return absl::FailedPreconditionError(
        absl::StrCat("the account '", name, "' has the uid ", kSupervisorUid,
                     ", which supervisors need for themselves: give it another one"));
  }
  if (entry.pw_uid == 0 || entry.pw_gid == 0) {
    return absl::FailedPreconditionError(absl::StrCat("the account '", name, "' is root's (uid ",
                                                      entry.pw_uid, ", gid ", entry.pw_gid,
                                                      "), and ranks never run as root"));
  }
  Account account{name, {entry.pw_uid, entry.pw_gid, {}}, entry.pw_dir, entry.pw_shell};
  HPC_ASSIGN_OR_RETURN(account.ids.groups, GroupsOf(name, entry.pw_gid));
  return account;
}

absl::StatusOr<Accounts> Accounts::Make(const std::map<std::string, std::string>& mapping,
                                        const std::vector<std::string>& setuid_programs) {
  Accounts accounts;
  if (mapping.empty()) {
    auto standard = FindAccount(kDefault);
    if (absl::IsNotFound(standard.status())) return HowToMakeTheDefault();
    if (!standard.ok()) return standard.status();
    accounts.by_user_["*"] = *std::move(standard);
  }
  for (const auto& [user, name] : mapping) {
    auto account = FindAccount(name);
    if (!account.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("[accounts]: the ranks of ", user == "*" ? "all others" : user,
                       " cannot run as '", name, "': ", account.status().message()));
    }
    accounts.by_user_[user] = *std::move(account);
  }
  for (const std::string& name : setuid_programs) {
    HPC_RETURN_IF_ERROR(accounts.AllowSetuidPrograms(name));
  }
  return accounts;
}

absl::Status Accounts::AllowSetuidPrograms(const std::string& name) {
  bool found = false;
  for (auto& [user, account] : by_user_) {
    if (account.name != name) continue;
    account.ids.setuid_programs = found = true;
  }
  if (found) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--setuid-programs '", name, "': no ranks run as that account"));
}

absl::StatusOr<const Account*> Accounts::Of(const std::string& user) const {
  if (by_user_.empty()) return nullptr;
  auto found = by_user_.find(user);
  if (found == by_user_.end()) found = by_user_.find("*");
  if (found != by_user_.end()) return &found->second;
  return absl::NotFoundError(absl::StrCat(
      user.empty() ? "there is no account for runs without a user"
                   : absl::StrCat("there is no account for runs of ", user),
      ": name one under [accounts] in the worker's configuration, or '*' for all others"));
}

std::vector<const Account*> Accounts::All() const {
  std::set<std::string> seen;
  std::vector<const Account*> all;
  for (const auto& [user, account] : by_user_) {
    if (seen.insert(account.name).second) all.push_back(&account);
  }
  return all;
}

FileRights::FileRights(const AccountIds* account) {
  if (account == nullptr) return;
  changed_ = true;
  own_groups_.resize(static_cast<size_t>(std::max(0, getgroups(0, nullptr))));
  if (getgroups(static_cast<int>(own_groups_.size()), own_groups_.data()) < 0) abort();
  SetThreadGroups(account->groups);
  // Neither call reports a failure, but asking for the id again shows it. With root's id the thread
  // also gives up the right to bypass permissions, and gets it back with root's id.
  setfsgid(account->gid);
  setfsuid(account->uid);
  if (setfsuid(static_cast<uid_t>(-1)) != static_cast<int>(account->uid)) abort();
}

FileRights::~FileRights() {
  if (!changed_) return;
  setfsuid(geteuid());
  setfsgid(getegid());
  SetThreadGroups(own_groups_);
}

}  // namespace hpc::worker

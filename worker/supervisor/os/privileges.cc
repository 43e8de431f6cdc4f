#include "worker/supervisor/os/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hpc::worker {
namespace {

// Takes a decimal number that is an id from `text`, and moves `at` behind it.
bool TakeId(const std::string& text, size_t* at, uint32_t* id) {
  const size_t begin = *at;
  uint64_t value = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && *at - begin < 10) {
    value = value * 10 + static_cast<uint64_t>(text[(*at)++] - '0');
  }
  // To the kernel, the largest number means "leave it as it is".
  if (*at == begin || value >= UINT32_MAX) return false;
  *id = static_cast<uint32_t>(value);
  return true;
}

// Without the bounding set, no execve can give capabilities back.
bool EmptyBoundingSet() {
  unsigned long capability = 0;
  while (prctl(PR_CAPBSET_DROP, capability) == 0) ++capability;
  // Stops at the first capability that the kernel does not know. EPERM means that the kernel would
  // not let us drop one.
  return errno == EINVAL && capability > 0;
}

bool DropCapabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

std::string ToText(const AccountIds& ids) {
  std::string text = ids.setuid_programs ? "+" : "";
  text += std::to_string(ids.uid) + ":" + std::to_string(ids.gid) + ":";
  for (size_t i = 0; i < ids.groups.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(ids.groups[i]);
  }
  return text;
}

std::optional<AccountIds> ParseAccountIds(const std::string& text) {
  AccountIds ids;
  ids.setuid_programs = text.substr(0, 1) == "+";
  size_t at = ids.setuid_programs ? 1 : 0;
  if (!TakeId(text, &at, &ids.uid) || text[at++] != ':') return std::nullopt;
  if (!TakeId(text, &at, &ids.gid) || text[at++] != ':') return std::nullopt;
  while (at < text.size()) {
    if (!ids.groups.empty() && text[at++] != ',') return std::nullopt;
    if (!TakeId(text, &at, &ids.groups.emplace_back())) return std::nullopt;
  }
  if (ids.uid == 0) return std::nullopt;
  return ids;
}

bool BecomeSupervisorFor(const AccountIds& ids) {
  if (!ids.setuid_programs && !EmptyBoundingSet()) return false;
  const std::vector<gid_t> groups(ids.groups.begin(), ids.groups.end());
  if (setgroups(groups.size(), groups.data()) != 0) return false;
  if (setresgid(ids.gid, ids.gid, ids.gid) != 0) return false;
  if (setresuid(kSupervisorUid, ids.uid, kSupervisorUid) != 0) return false;
  // A kernel or a security module claimed success wrongly.
  if (setuid(0) == 0 || geteuid() != ids.uid || getegid() != ids.gid) {
    errno = EPERM;
    return false;
  }
  return true;
}

bool BecomeWhomWeWorkAs() {
  const uid_t uid = geteuid();
  // The C library's call would tell the parent's other threads, which a child does not have.
  return syscall(SYS_setresuid, uid, uid, uid) == 0;
}

OnOwnBehalf::OnOwnBehalf() : switched_(getuid() == kSupervisorUid) {
  if (switched_) setfsuid(kSupervisorUid);
}

OnOwnBehalf::~OnOwnBehalf() {
  if (switched_) setfsuid(geteuid());
}

bool GiveUpPrivileges(bool setuid_programs) {
  if (!setuid_programs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // Root gets its capabilities back with the next execve. Any other account would keep capabilities
  // that whoever started this process had been lent.
  if (geteuid() != 0 && !DropCapabilities()) return false;
  rlimit core;
  if (getrlimit(RLIMIT_CORE, &core) != 0) return false;
  // A program that wants core files may raise the limit again.
  core.rlim_cur = 0;
  return setrlimit(RLIMIT_CORE, &core) == 0;
}

void ForbidTracing() { prctl(PR_SET_DUMPABLE, 0); }

void AllowTracing() { prctl(PR_SET_DUMPABLE, 1); }

}  // namespace hpc::worker

// KillLeftovers: ends what a supervisor that was killed could not.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "worker/loop/boot_time.h"
#include "worker/supervision/held_cgroup.h"
#include "worker/supervision/journal_reader.h"
#include "worker/supervision/strays.h"
#include "worker/supervision/supervisor_handle.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/os/small_file.h"

namespace hpc::worker {
namespace {

constexpr int64_t kWaitMs = 500;
constexpr int kLooks = 5;
// Mostly over much sooner: it takes others that start programs all the time too.
constexpr int64_t kChaseNs = 50'000'000;

absl::Status NotReturned(const std::string& dir, const std::vector<int64_t>& pids) {
  return absl::DeadlineExceededError(
      absl::StrCat("processes of ", dir, " survive SIGKILL: ", absl::StrJoin(pids, ", ")));
}

std::string ProcFile(int64_t pid, const char* name) {
  return ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/" + name).value_or("");
}

// The number of the process or thread that was made last; 0: not known.
int64_t NewestProcess() {
  const std::vector<int64_t> numbers =
      Numbers(ReadSmallFile(AT_FDCWD, "/proc/loadavg").value_or(""));
  return numbers.empty() ? 0 : numbers.back();
}

// A supervisor that was ended while its disk held one of its threads up. It holds no device, and
// once the disk lets go of it nothing of it is left.
bool IsHeldUpSupervisor(int64_t pid) {
  const auto process = ReadProcessStat(pid);
  if (!process || !process->Ended() || process->session != pid) return false;
  const auto uid = RealUid(pid);
  return process->name == "hpc-supervisor" && uid && (*uid == geteuid() || *uid == kSupervisorUid);
}

absl::Status KillCgroup(const std::string& dir, const std::string& path) {
  auto leaf = CgroupLeaf::Open(path);
  if (!leaf) return absl::OkStatus();
  leaf->Kill();
  if (leaf->WaitEmpty(kWaitMs)) {
    leaf->Remove();
    return absl::OkStatus();
  }
  std::vector<int64_t> left = leaf->Processes();
  left.erase(std::remove_if(left.begin(), left.end(), IsHeldUpSupervisor), left.end());
  return left.empty() ? absl::OkStatus() : NotReturned(dir, left);
}

// Whether the supervisor that the cgroup is held for has another attempt by now, or waits for one:
// of the attempt before nothing was left then.
bool HasPassedOn(const std::string& cgroup, const std::string& dir) {
  const std::vector<std::string> titles = TitlesIn(cgroup);
  return std::any_of(titles.begin(), titles.end(),
                     [&](const std::string& title) { return title != dir; });
}

// Knows the processes of an attempt that no cgroup held: by the sessions of its ranks, and by the
// environment that the worker gives every rank and that descendants inherit unless they want not.
class Traces {
 public:
  // `owner`: of the attempt dir. Nobody else's processes are touched.
  Traces(const std::string& dir, uid_t owner, const Journal& journal,
         const std::vector<RankStarted>& seen)
      : value_("=" + dir + "/"), owner_(owner) {
    for (const RankStarted& started : seen) Add(started);
    for (const SupervisorEvent& event : journal.events) {
      if (const auto* started = std::get_if<RankStarted>(&event)) Add(*started);
    }
  }

  // SIGKILLs them as it sees them. Returns those seen.
  std::vector<int64_t> Kill() const {
    std::vector<int64_t> found;
    DIR* proc = opendir("/proc");
    if (proc == nullptr) return found;
    const int64_t newest = NewestProcess();
    while (const dirent* entry = readdir(proc)) {
      const int64_t pid = atoll(entry->d_name);
      // The list is in order, and does not end while there are ever newer ones.
      if (newest > 0 && pid > newest) break;
      KillOne(pid, &found);
    }
    closedir(proc);
    Chase(newest, &found);
    return found;
  }

 private:
  void KillOne(int64_t pid, std::vector<int64_t>* found) const {
    if (pid <= 1 || !Owns(pid)) return;
    const auto stat = ReadProcessStat(pid);
    if (!stat || stat->Ended() || (!InSession(*stat) && !Carries(pid))) return;
    found->push_back(pid);
    kill(static_cast<pid_t>(pid), SIGKILL);
    // Every rank began a session, so the whole group is of the attempt; and one that forks on and
    // on is hit with it even if it is gone from where it was seen.
    if (stat->group > 1) kill(static_cast<pid_t>(-stat->group), SIGKILL);
  }
  // One that forks on and on was always ahead of whoever went through the list: it is among those
  // that are newer than `seen`, until there is none.
  void Chase(int64_t seen, std::vector<int64_t>* found) const {
    const int64_t deadline = BootTimeNs() + kChaseNs;
    while (BootTimeNs() < deadline) {
      const int64_t newest = NewestProcess();
      // Numbers that began again are for the next look.
      if (newest <= seen) return;
      while (seen < newest) KillOne(++seen, found);
    }
  }
  // Sessions 0 and 1 are a whole container's: no rank's, whoever says so.
  void Add(const RankStarted& started) {
    if (started.pid > 1) ranks_[started.pid] = started.at_ns;
  }
  bool Ours() const { return owner_ == geteuid(); }
  // Root's worker may kill anybody's, and a process that its own user started may have become root.
  bool Owns(int64_t pid) const { return Ours() || RealUid(pid) == owner_; }
  // A session's number cannot be given away while one of its processes lives, so an older process
  // under that number belongs to another's session.
  bool InSession(const ProcessStat& stat) const {
    constexpr int64_t kClockSlackNs = 1'000'000'000;
    const auto rank = ranks_.find(stat.session);
    return rank != ranks_.end() && stat.started_ns + kClockSlackNs > rank->second;
  }
  // Any of the variables that name a file of the attempt: a run may have set some otherwise.
  bool Carries(int64_t pid) const {
    return ProcFile(pid, "environ").find(value_) != std::string::npos;
  }

  std::string value_;
  uid_t owner_;
  std::unordered_map<int64_t, int64_t> ranks_;  // pid to time of start
};

absl::Status KillByTraces(const std::string& dir, uid_t owner, const Journal& journal,
                          const std::vector<RankStarted>& seen) {
  const Traces traces(dir, owner, journal, seen);
  const int64_t deadline = BootTimeNs() + kWaitMs * 1'000'000;
  // One look may miss what is executing a program just then.
  for (int looks = 1, in_vain = 0; in_vain < 2; ++looks) {
    const std::vector<int64_t> left = traces.Kill();
    in_vain = left.empty() ? in_vain + 1 : 0;
    // On a busy machine a single look may take as long.
    if (!left.empty() && looks >= kLooks && BootTimeNs() > deadline) return NotReturned(dir, left);
    if (in_vain < 2) usleep(1000);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status KillLeftovers(const std::string& attempt, const std::string& dir,
                           const std::vector<RankStarted>& seen, const std::string& held) {
  // Ours to judge, whatever the supervisor said.
  if (!held.empty()) return KillCgroup(dir, held);
  if (const std::string recorded = RecordedHeldCgroup(dir); !recorded.empty()) {
    return HasPassedOn(recorded, dir) ? absl::OkStatus() : KillCgroup(dir, recorded);
  }
  const std::vector<std::string> cgroups = CgroupsOf(attempt, dir);
  for (const std::string& cgroup : cgroups) HPC_RETURN_IF_ERROR(KillCgroup(dir, cgroup));
  if (!cgroups.empty()) return absl::OkStatus();
  // Ranks of our own account may have removed it, or put something else there.
  Journal journal = ReadJournalFile(dir).value_or(Journal());
  if (journal.AllGone()) return absl::OkStatus();
  // A power cut has taken its first line: the numbers in it may be anybody's since that boot.
  if (!journal.header) journal.events.clear();
  if (journal.header && journal.header->boot_id != BootId()) return absl::OkStatus();
  struct stat info;
  const uid_t owner = stat(dir.c_str(), &info) == 0 ? info.st_uid : geteuid();
  if (journal.header && !journal.header->cgroup.empty() && owner == geteuid()) {
    return KillCgroup(dir, journal.header->cgroup);
  }
  return KillByTraces(dir, owner, journal, seen);
}

}  // namespace hpc::worker

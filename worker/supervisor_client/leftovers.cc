#include "worker/supervisor_client/leftovers.h"

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
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/journal_reader.h"
#include "worker/supervisor_client/strays.h"

namespace hpc::worker {
namespace {

constexpr int64_t kWaitMs = 500;
constexpr int kLooks = 5;
// Chasing is mostly over much sooner. It takes longer only while other programs keep starting, too.
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

// Whether this is a supervisor that has ended except for a thread that is stuck in its disk. It
// holds no device. Once the disk releases the thread, nothing of the process is left.
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

// Whether the supervisor for which the cgroup is held has another attempt by now, or waits for one.
// In that case nothing was left of the attempt before.
bool HasPassedOn(const std::string& cgroup, const std::string& dir) {
  const std::vector<std::string> titles = TitlesIn(cgroup);
  return std::any_of(titles.begin(), titles.end(),
                     [&](const std::string& title) { return title != dir; });
}

// Finds the processes of an attempt that no cgroup held. It knows them by the sessions of its
// ranks, and by the environment that the worker gives every rank. Descendants inherit that unless
// they change it.
class Traces {
 public:
  // `owner` owns the attempt dir. Processes of other accounts are not touched.
  Traces(const std::string& dir, uid_t owner, const Journal& journal,
         const std::vector<RankStarted>& seen)
      : value_("=" + dir + "/"), owner_(owner) {
    for (const RankStarted& started : seen) Add(started);
    for (const SupervisorEvent& event : journal.events) {
      if (const auto* started = std::get_if<RankStarted>(&event)) Add(*started);
    }
  }

  // SIGKILLs the processes as it sees them. Returns those it saw.
  std::vector<int64_t> Kill() const {
    std::vector<int64_t> found;
    DIR* proc = opendir("/proc");
    if (proc == nullptr) return found;
    const int64_t newest = NewestProcess();
    while (const dirent* entry = readdir(proc)) {
      const int64_t pid = atoll(entry->d_name);
      // The list is in ascending order, and would not end while newer processes keep coming.
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
    // Every rank began a session, so the whole group belongs to the attempt. A process that keeps
    // forking is hit through its group, even if it is gone from where it was seen.
    if (stat->group > 1) kill(static_cast<pid_t>(-stat->group), SIGKILL);
  }
  // A process that keeps forking was always ahead of whoever went through the list. So it is among
  // the processes newer than `seen`, which are killed until there are none.
  void Chase(int64_t seen, std::vector<int64_t>* found) const {
    const int64_t deadline = BootTimeNs() + kChaseNs;
    while (BootTimeNs() < deadline) {
      const int64_t newest = NewestProcess();
      // If the numbers have begun again from the start, the next look finds those processes.
      if (newest <= seen) return;
      while (seen < newest) KillOne(++seen, found);
    }
  }
  // Sessions 0 and 1 belong to a whole container, never to a rank, whatever a journal says.
  void Add(const RankStarted& started) {
    if (started.pid > 1) ranks_[started.pid] = started.at_ns;
  }
  bool Ours() const { return owner_ == geteuid(); }
  // Root's worker may kill anybody's processes. If the account is our own, a process that it
  // started may have become root.
  bool Owns(int64_t pid) const { return Ours() || RealUid(pid) == owner_; }
  // A session's number cannot be reused while one of its processes lives. So a process that is
  // older than the rank, but has that session number, belongs to another session.
  bool InSession(const ProcessStat& stat) const {
    constexpr int64_t kClockSlackNs = 1'000'000'000;
    const auto rank = ranks_.find(stat.session);
    return rank != ranks_.end() && stat.started_ns + kClockSlackNs > rank->second;
  }
  // Looks for any of the variables that name a file of the attempt, since a run may have set some
  // of them to something else.
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
  // One look may miss a process that is just executing a program.
  for (int looks = 1, in_vain = 0; in_vain < 2; ++looks) {
    const std::vector<int64_t> left = traces.Kill();
    in_vain = left.empty() ? in_vain + 1 : 0;
    // On a busy machine a single look may take that long.
    if (!left.empty() && looks >= kLooks && BootTimeNs() > deadline) return NotReturned(dir, left);
    if (in_vain < 2) usleep(1000);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status KillLeftovers(const std::string& attempt, const std::string& dir,
                           const std::vector<RankStarted>& seen, const std::string& held) {
  // We can judge this ourselves, whatever the supervisor said.
  if (!held.empty()) return KillCgroup(dir, held);
  if (const std::string recorded = RecordedHeldCgroup(dir); !recorded.empty()) {
    return HasPassedOn(recorded, dir) ? absl::OkStatus() : KillCgroup(dir, recorded);
  }
  const std::vector<std::string> cgroups = CgroupsOf(attempt, dir);
  for (const std::string& cgroup : cgroups) HPC_RETURN_IF_ERROR(KillCgroup(dir, cgroup));
  if (!cgroups.empty()) return absl::OkStatus();
  // Ranks of our own account may have removed the journal, or put something else there.
  Journal journal = ReadJournalFile(dir).value_or(Journal());
  if (journal.AllGone()) return absl::OkStatus();
  // A power cut has removed the first line. The numbers may belong to anybody since that boot.
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

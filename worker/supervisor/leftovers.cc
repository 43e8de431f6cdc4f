// KillLeftovers: ends what a supervisor that was killed could not.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/client.h"
#include "worker/supervisor/journal_reader.h"
#include "worker/supervisor/small_file.h"

namespace hpc::worker {
namespace {

constexpr int64_t kWaitMs = 500;

absl::Status NotReturned(const std::string& dir, const std::vector<int64_t>& pids) {
  return absl::DeadlineExceededError(
      absl::StrCat("processes of ", dir, " survive SIGKILL: ", absl::StrJoin(pids, ", ")));
}

absl::Status KillCgroup(const std::string& dir, const std::string& path) {
  auto leaf = CgroupLeaf::Open(path);
  if (!leaf) return absl::OkStatus();
  leaf->Kill();
  if (!leaf->WaitEmpty(kWaitMs)) return NotReturned(dir, leaf->Processes());
  leaf->Remove();
  return absl::OkStatus();
}

struct ProcessStat {
  char state = 0;
  int64_t session = 0;
  int64_t started_ns = 0;  // CLOCK_BOOTTIME
};

bool ReadStat(int64_t pid, ProcessStat* stat) {
  const auto text = ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat");
  if (!text) return false;
  // "4711 (any) thing) S ppid pgrp session ...", the start time in ticks being field 22.
  const size_t name_end = text->rfind(") ");
  if (name_end == std::string::npos || name_end + 2 >= text->size()) return false;
  const std::vector<int64_t> fields = Numbers(text->substr(name_end + 3));
  if (fields.size() < 19) return false;
  stat->state = (*text)[name_end + 2];
  stat->session = fields[2];
  stat->started_ns = fields[18] * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  return true;
}

// The living processes in the sessions of these ranks (pid to time of start). A number may since
// have been given to others, whose session then began before the rank did or after a reboot; the
// latter is the caller's to exclude.
std::vector<int64_t> InSessions(const std::unordered_map<int64_t, int64_t>& ranks) {
  constexpr int64_t kClockSlackNs = 1'000'000'000;
  std::vector<int64_t> found;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = readdir(proc)) {
    const int64_t pid = atoll(entry->d_name);
    ProcessStat stat;
    if (pid <= 1 || !ReadStat(pid, &stat) || stat.state == 'Z') continue;
    const auto rank = ranks.find(stat.session);
    if (rank != ranks.end() && stat.started_ns > rank->second - kClockSlackNs) found.push_back(pid);
  }
  closedir(proc);
  return found;
}

absl::Status KillSessions(const std::string& dir, const Journal& journal) {
  std::unordered_map<int64_t, int64_t> ranks;
  for (const SupervisorEvent& event : journal.events) {
    if (const auto* started = std::get_if<RankStarted>(&event)) {
      ranks[started->pid] = started->at_ns;
    }
  }
  if (ranks.empty()) return absl::OkStatus();
  const int64_t deadline = BootTimeNs() + kWaitMs * 1'000'000;
  for (auto left = InSessions(ranks); !left.empty(); left = InSessions(ranks)) {
    for (const int64_t pid : left) kill(static_cast<pid_t>(pid), SIGKILL);
    if (BootTimeNs() > deadline) return NotReturned(dir, left);
    usleep(1000);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no cgroup held the processes of ", dir,
      ": those in its ranks' sessions are gone, one that left them cannot be ruled out"));
}

}  // namespace

absl::Status KillLeftovers(const std::string& dir) {
  const auto journal = ReadJournalFile(dir);
  // It ended before it could start anything.
  if (absl::IsNotFound(journal.status())) return absl::OkStatus();
  if (!journal.ok()) return journal.status();
  if (journal->AllGone() || !journal->header) return absl::OkStatus();
  if (journal->header->boot_id != BootId()) return absl::OkStatus();
  if (!journal->header->cgroup.empty()) return KillCgroup(dir, journal->header->cgroup);
  return KillSessions(dir, *journal);
}

}  // namespace hpc::worker

#include "worker/attempts/adoption.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "worker/attempts/event_age.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/attempts/rank_exit.h"
#include "worker/attempts/rank_report.h"
#include "worker/attempts/stop_words.h"
#include "worker/loop/boot_time.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/journal_reader.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/strays.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

// Begins as if no rank had ever run. Each event adds to that.
class JournalReader {
 public:
  JournalReader(const AttemptFile& file, int64_t now_ns) : now_ns_(now_ns) {
    out_.ref = file.ref;
    out_.devices = file.devices;
    out_.stop_grace = file.stop_grace;
    for (int32_t rank : file.RankNumbers()) ranks_[rank].rank = rank;
  }

  void Take(const SupervisorEvent& event) {
    std::visit(
        [this](const auto& one) {
          if constexpr (requires { one.rank; }) {
            // The account that wrote the journal may have written anything, so unknown ranks are
            // ignored.
            if (ranks_.count(one.rank) == 0) return;
          }
          On(one);
        },
        event);
  }

  AdoptedAttempt Finish() {
    for (const auto& [number, rank] : ranks_) out_.ranks.push_back(rank);
    return std::move(out_);
  }

 private:
  void On(const RankStarted& event) {
    out_.started = true;
    ranks_[event.rank].pid = event.pid;
    ranks_[event.rank].ago.started = EventAge(event.at_ns, now_ns_);
  }
  void On(const RankStartFailed& event) {
    out_.started = true;
    ranks_[event.rank].exit = ToRankExit(event);
  }
  void On(const Looked& event) { looked_ns_ = event.at_ns; }
  void On(const CaughtSigterm& event) { catches_sigterm_.insert(event.rank); }
  void On(const StopBegan& event) { out_.halt = HaltOfStop(event, now_ns_); }
  void On(const RankExited& event) {
    protocol::RankAges& ago = ranks_[event.rank].ago;
    protocol::RankExit& exit = ranks_[event.rank].exit.emplace(ToRankExit(event));
    exit.catches_sigterm = catches_sigterm_.count(event.rank) > 0;
    ago.ended = EventAge(event.at_ns, now_ns_);
    if (looked_ns_ != 0) ago.ended_within = EventAge(looked_ns_, now_ns_) - ago.ended;
  }
  void On(const AllGone&) { out_.returned = true; }
  template <typename Other>
  void On(const Other&) {}

  int64_t now_ns_;
  int64_t looked_ns_ = 0;
  std::set<int32_t> catches_sigterm_;
  AdoptedAttempt out_;
  std::map<int32_t, AdoptedAttempt::Rank> ranks_;
};

void AddLastWords(const std::string& dir, absl::Time now, AdoptedAttempt* attempt) {
  for (AdoptedAttempt::Rank& rank : attempt->ranks) {
    if (!rank.exit) continue;
    ExplainExit(dir, rank.rank, &*rank.exit);
    if (!attempt->before_boot) DateWords(dir, rank.rank, now - rank.ago.ended, &*rank.exit);
  }
}

// Finishes an attempt whose supervisor is gone. Ranks die with their supervisor, and what they have
// left is killed here. The hello then says that nothing runs. Otherwise it would say that ranks are
// back, and nobody would ever report their end.
void FinishWithoutSupervisor(const std::vector<SupervisorEvent>& journal, FoundAttempt* found) {
  AdoptedAttempt& attempt = found->attempt;
  const bool killed = !attempt.returned && !HasSupervisor(found->dir);
  if (!attempt.returned && !killed) return;
  attempt.returned = KillLeftovers(attempt.ref.ToString(), found->dir, {}).ok();
  if (!killed || !attempt.returned) return;
  if (attempt.halt.kind == protocol::HaltKind::kNone) {
    attempt.halt = {protocol::HaltKind::kSupervisorLost, LossInWords(ShortageInWords(journal))};
    // The supervisor may have been lost at any moment since its ranks were started.
    for (const AdoptedAttempt::Rank& rank : attempt.ranks) {
      attempt.halt.within = std::max(attempt.halt.within, rank.ago.started);
    }
  }
  LogWarning("the supervisor of an attempt is gone", {{"attempt", attempt.ref.ToString()},
                                                      {"dir", found->dir},
                                                      {"last_words", LastWords(found->dir)}});
}

// Kills what runs of attempts whose folder was lost, since their devices would be given to others.
void KillStrays(const std::string& state_dir, const std::vector<FoundAttempt>& found) {
  for (const Stray& stray : FindStrays(state_dir + "/attempts/", "/ranks")) {
    const auto ref = ParseAttemptName(stray.attempt);
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const FoundAttempt& one) { return one.attempt.ref == ref; });
    if (!ref || known) continue;
    const absl::Status killed = KillStray(stray);
    LogWarning("an attempt without a folder was still running and is killed",
               {{"attempt", stray.attempt}, {"outcome", killed.ToString()}});
  }
}

// Removes cgroups that an earlier worker has held for supervisors which have no attempt any more.
void RemoveHeldCgroups(const std::string& state_dir, const std::vector<FoundAttempt>& found) {
  std::set<std::string> used, dirs;
  for (const FoundAttempt& one : found) {
    if (one.attempt.returned) continue;
    used.insert(RecordedHeldCgroup(one.dir));
    dirs.insert(one.dir);
  }
  // A cgroup may be on no record, for example if it was made too late for its supervisor to use it.
  const auto has_attempt = [&dirs](const std::string& cgroup) {
    const std::vector<std::string> titles = TitlesIn(cgroup);
    return std::any_of(titles.begin(), titles.end(),
                       [&](const std::string& title) { return dirs.count(title) > 0; });
  };
  for (const Stray& stray : FindStrays(state_dir + "/supervisors/", "")) {
    for (const std::string& cgroup : CgroupsOf(stray.attempt, stray.dir)) {
      if (used.count(cgroup) > 0 || has_attempt(cgroup)) continue;
      // A supervisor in it waits for a worker that is gone, so it is about to end.
      const absl::Status killed = KillLeftovers("", stray.dir, {}, cgroup);
      if (!killed.ok()) {
        LogWarning("a cgroup of no attempt stays",
                   {{"cgroup", cgroup}, {"why", killed.ToString()}});
      }
    }
  }
}

}  // namespace

AdoptedAttempt FromJournal(const AttemptFile& file, const std::vector<SupervisorEvent>& journal,
                           int64_t now_ns) {
  JournalReader reader(file, now_ns);
  for (const SupervisorEvent& event : journal) reader.Take(event);
  return reader.Finish();
}

std::vector<FoundAttempt> FindAttempts(const std::string& state_dir) {
  std::vector<FoundAttempt> found;
  for (const std::string& name : ListAttempts(state_dir)) {
    const std::string dir = state_dir + "/attempts/" + name;
    const auto ref = ParseAttemptName(name);
    auto file = ReadAttemptFile(dir);
    if (!ref || !file.ok() || file->ref != *ref) {
      // A worker was killed while it deleted or made an attempt.
      const bool remains = ref && absl::IsNotFound(file.status());
      Log(remains ? LogLevel::kInfo : LogLevel::kWarning,
          remains ? "what is left of an attempt is deleted"
                  : "a folder that is no attempt of ours is deleted",
          {{"folder", dir}, {"problem", file.status().ToString()}});
      if (const absl::Status removed = RemoveAttemptDir(dir); !removed.ok()) {
        LogWarning("it cannot be deleted", {{"error", removed.ToString()}});
      }
      continue;
    }
    FoundAttempt& one = found.emplace_back();
    one.file = *std::move(file);
    one.dir = RanksDir(state_dir, *ref);
    // Without a journal, the supervisor ended before it could begin one.
    const auto journal = ReadJournal(one.dir).value_or(std::vector<SupervisorEvent>());
    one.read_ns = BootTimeNs();
    const absl::Time read_at = absl::Now();
    one.attempt = FromJournal(one.file, journal, one.read_ns);
    one.attempt.before_boot = BeganInAnotherBoot(one.dir);
    FinishWithoutSupervisor(journal, &one);
    const auto store = ReadStoreRecord(dir);
    one.attempt.store_lost = store && IsLost(*store, one.attempt.returned);
    one.attempt.witnessed = ReadWitnessRecord(dir).has_value();
    AddLastWords(one.dir, read_at, &one.attempt);
    for (const SupervisorEvent& event : journal) {
      if (const auto* output = std::get_if<OutputGrown>(&event)) one.outputs.push_back(*output);
    }
  }
  KillStrays(state_dir, found);
  RemoveHeldCgroups(state_dir, found);
  return found;
}

}  // namespace hpc::worker

#include "worker/attempts/run_dirs.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "worker/attempts/attempt_files.h"
#include "worker/os/json_number.h"
#include "worker/supervisor_client/quick_file.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

std::string AgesFile(const std::string& state_dir) { return state_dir + "/runs.json"; }

// If the file is missing or damaged nothing is known, so every folder counts as young.
RunDirAges ReadAges(const std::string& state_dir) {
  const auto text = ReadFile(AgesFile(state_dir), 16 << 20);
  RunDirAges ages;
  if (!text.ok()) return ages;
  const json record = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    for (const auto& [run, days] : record.at("days").items()) {
      RunId id = 0;
      const auto seen = WholeNumber<int32_t>(days);
      if (seen < 0 || seen > kMaxRunDirDays) return {};
      if (absl::SimpleAtoi(run, &id)) ages.days[id] = seen;
    }
    ages.today = record.at("today").get<std::string>();
    return ages;
  } catch (const std::exception&) {
    return {};
  }
}

absl::Status WriteAges(const std::string& state_dir, const RunDirAges& ages) {
  json days = json::object();
  for (const auto& [run, count] : ages.days) days[absl::StrCat(run)] = count;
  return WriteFileAtomically(AgesFile(state_dir),
                             json{{"today", ages.today}, {"days", days}}.dump());
}

std::set<RunId> Folders(const std::string& state_dir) {
  std::set<RunId> runs;
  std::error_code error;
  for (std::filesystem::directory_iterator it(state_dir + "/runs", error), end; !error && it != end;
       it.increment(error)) {
    RunId id = 0;
    if (absl::SimpleAtoi(it->path().filename().string(), &id)) runs.insert(id);
  }
  return runs;
}

std::set<RunId> InUse(const std::string& state_dir) {
  std::set<RunId> runs;
  for (const std::string& name : ListAttempts(state_dir)) {
    if (const std::optional<AttemptRef> ref = ParseAttemptName(name)) runs.insert(ref->run);
  }
  return runs;
}

bool Remove(const std::string& folder, int32_t days) {
  const absl::Status removed = RemoveForeignDir(folder);
  if (removed.ok()) {
    LogInfo(
        "removed a run's folder: no attempt of it has been here for longer than such folders "
        "are kept (--keep-run-dirs)",
        {{"folder", folder}, {"days", days}});
  } else {
    LogWarning("an old folder of a run stays behind",
               {{"folder", folder}, {"error", removed.ToString()}});
  }
  return removed.ok();
}

// These folders may be all that runs have left, and they take room.
void TellWhatStays(const std::string& state_dir, const RunDirAges& ages, int32_t keep_days) {
  if (ages.days.empty()) return;
  int32_t oldest = 0;
  for (const auto& [run, days] : ages.days) oldest = std::max(oldest, days);
  LogInfo("folders that runs have left here stay",
          {{"in", state_dir + "/runs"},
           {"folders", ages.days.size()},
           {"oldest_days", oldest},
           {"keep_days", keep_days > 0 ? absl::StrCat(keep_days) : "for ever"}});
}

}  // namespace

RunDirAges Age(const RunDirAges& before, const std::set<RunId>& folders,
               const std::set<RunId>& in_use, const std::string& today) {
  const int32_t passed = before.today == today ? 0 : 1;
  RunDirAges after{today, {}};
  for (RunId run : folders) {
    const auto known = before.days.find(run);
    const bool young = known == before.days.end() || in_use.count(run) > 0;
    after.days[run] = young ? 0 : std::min(known->second + passed, kMaxRunDirDays);
  }
  return after;
}

void RemoveOldRunDirs(const std::string& state_dir, absl::CivilDay today, int32_t keep_days) {
  const RunDirAges before = ReadAges(state_dir);
  RunDirAges ages = Age(before, Folders(state_dir), InUse(state_dir), absl::FormatCivilTime(today));
  bool removed = false;
  for (auto it = ages.days.begin(); it != ages.days.end();) {
    const bool old = keep_days > 0 && it->second > keep_days;
    const bool gone = old && Remove(RunDir(state_dir, it->first), it->second);
    removed |= gone;
    it = gone ? ages.days.erase(it) : std::next(it);
  }
  if (ages.today != before.today) TellWhatStays(state_dir, ages, keep_days);
  if (ages.today == before.today && ages.days == before.days) return;
  // A folder that a power cut brings back in part must not count as young, or a run would go on
  // from half of its checkpoint.
  absl::Status saved = removed ? Sync(state_dir + "/runs") : absl::OkStatus();
  if (saved.ok()) saved = WriteAges(state_dir, ages);
  if (!saved.ok()) {
    LogWarning("the ages of the runs' folders could not be written down: they stay longer",
               {{"error", saved.ToString()}});
  }
}

}  // namespace hpc::worker

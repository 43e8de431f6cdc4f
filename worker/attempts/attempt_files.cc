#include "worker/attempts/attempt_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "protocol/limits.h"
#include "worker/core/rank_environment.h"
#include "worker/os/account.h"
#include "worker/os/json_number.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/journal_reader.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/quick_file.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

constexpr char kRanks[] = "ranks";
constexpr char kHome[] = "home";                // HomeDir()
constexpr char kCheckpoints[] = "checkpoints";  // CheckpointDir()

absl::Status GiveTo(const std::string& path, const AccountIds* account) {
  if (account == nullptr || lchown(path.c_str(), account->uid, account->gid) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "chown " + path);
}

// Makes a folder that another account can pass through, whatever our umask is.
absl::Status MakePassage(const std::string& path, const AccountIds* account) {
  HPC_RETURN_IF_ERROR(MakeDirs(path, 0700));
  if (account == nullptr || chmod(path.c_str(), 0711) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "chmod " + path);
}

bool ChoosesCheckpointDir(const protocol::Prepare& prepare) {
  return std::any_of(prepare.env.begin(), prepare.env.end(),
                     [](const auto& entry) { return entry.first == "HPC_CHECKPOINT_DIR"; });
}

absl::Status MakeRunDir(const std::string& state_dir, const protocol::Prepare& prepare,
                        const AccountIds* account, SpareFolders* spares) {
  const std::string run_dir = RunDir(state_dir, prepare.ref.run);
  const bool checkpoints = !ChoosesCheckpointDir(prepare);
  if (spares != nullptr && checkpoints && spares->Take(run_dir, {kCheckpoints}, account)) {
    return absl::OkStatus();
  }
  HPC_RETURN_IF_ERROR(MakePassage(state_dir + "/runs", account));
  HPC_RETURN_IF_ERROR(MakeDirs(run_dir, 0700));
  HPC_RETURN_IF_ERROR(GiveTo(run_dir, account));
  if (!checkpoints) return absl::OkStatus();
  // An earlier attempt may have put anything there, such as a link. With its account's rights, such
  // a link leads to nothing that the account could not reach itself.
  const FileRights rights(account);
  return MakeDirs(CheckpointDir(run_dir), 0700);
}

// Makes a folder that belongs to the account. It is empty, but for a home if `home` says so.
absl::Status MakeRanksDir(const std::string& state_dir, const protocol::Prepare& prepare,
                          const AccountIds* account, bool home, SpareFolders* spares) {
  const std::string attempt_dir = AttemptDir(state_dir, prepare.ref);
  std::vector<std::string> inner = {kRanks};
  if (home) inner.push_back(kHome);
  if (spares != nullptr && spares->Take(attempt_dir, inner, account)) return absl::OkStatus();
  HPC_RETURN_IF_ERROR(MakePassage(state_dir + "/attempts", account));
  HPC_RETURN_IF_ERROR(MakePassage(attempt_dir, account));
  const std::string ranks = RanksDir(state_dir, prepare.ref);
  HPC_RETURN_IF_ERROR(MakeDirs(ranks, 0700));
  HPC_RETURN_IF_ERROR(GiveTo(ranks, account));
  if (!home) return absl::OkStatus();
  const FileRights rights(account);
  return MakeDirs(HomeDir(ranks), 0700);
}

absl::Status WriteParams(const std::string& path, const protocol::Prepare& prepare,
                         const AccountIds* account) {
  if (prepare.params.empty()) return absl::OkStatus();
  json params = json::object();
  for (const auto& [key, value] : prepare.params) params[key] = value;
  // With the account's rights, a link leads to nothing that the account could not reach itself.
  const FileRights rights(account);
  return WriteQuickly(path, params.dump());
}

// Empties the folder with the rights of its account. What cannot be removed is found when the
// folder itself is removed.
void EmptyForeignDir(const std::string& path, const struct stat& info) {
  const AccountIds owner{info.st_uid, info.st_gid, {info.st_gid}};
  const FileRights rights(info.st_uid == geteuid() ? nullptr : &owner);
  (void)EmptyTree(path);
}

// Ends what another account may still have running there.
absl::Status EndForeignRanks(const std::string& attempt_dir) {
  const std::string ranks = absl::StrCat(attempt_dir, "/", kRanks);
  struct stat info;
  if (lstat(ranks.c_str(), &info) != 0 || info.st_uid == geteuid()) return absl::OkStatus();
  return KillLeftovers(attempt_dir.substr(attempt_dir.rfind('/') + 1), ranks, {});
}

bool KeepAttemptDir(const std::string& attempt_dir, SpareFolders* spares) {
  return spares->Keep(attempt_dir, {kRanks, kHome}, {kRecordName, kJournalName});
}

// Makes a spare folder of the attempt's. This is done only if the attempt's supervisor came to its
// end, since a supervisor that a disk holds up may still make files. Until the folder is taken
// away, its journal says that the attempt has ended. Returns false if something is still there.
bool SpareAttemptDir(const std::string& attempt_dir, SpareFolders* spares, bool proved_gone) {
  const std::string ranks = absl::StrCat(attempt_dir, "/", kRanks);
  if (!proved_gone) {
    const auto journal = ReadJournalFile(ranks);
    if (!journal.ok() || !journal->AllGone() || !EndForeignRanks(attempt_dir).ok()) return false;
  }
  RemoveSupervisorSocket(ranks);
  // Most attempts leave nothing.
  if (KeepAttemptDir(attempt_dir, spares)) return true;
  struct stat info;
  if (lstat(ranks.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  EmptyForeignDir(ranks, info);
  const auto names = NamesIn(attempt_dir);
  if (!names.ok()) return false;
  for (const std::string& name : *names) {
    if (name == kRanks || name == kRecordName || name == kJournalName) continue;
    unlink(absl::StrCat(attempt_dir, "/", name).c_str());
  }
  return KeepAttemptDir(attempt_dir, spares);
}

// Whether the name is that of a file that was not finished, or cannot be told to others.
bool IsNoCheckpoint(const std::string& name) {
  return absl::StartsWith(name, ".") || absl::EndsWith(name, ".tmp") ||
         absl::EndsWith(name, ".part") || ToValidUtf8(name) != name;
}

}  // namespace

std::vector<int32_t> AttemptFile::RankNumbers() const {
  std::vector<int32_t> numbers(static_cast<size_t>(ranks));
  for (int32_t i = 0; i < ranks; ++i) numbers[static_cast<size_t>(i)] = first_rank + i;
  return numbers;
}

std::string AttemptDir(const std::string& state_dir, AttemptRef ref) {
  return absl::StrCat(state_dir, "/attempts/", ref.ToString());
}

std::string RanksDir(const std::string& state_dir, AttemptRef ref) {
  return absl::StrCat(AttemptDir(state_dir, ref), "/", kRanks);
}

std::string RunDir(const std::string& state_dir, RunId run) {
  return absl::StrCat(state_dir, "/runs/", run);
}

std::optional<AttemptRef> ParseAttemptName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  AttemptRef ref;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &ref.run) ||
      !absl::SimpleAtoi(parts[1], &ref.number) || ref.ToString() != name) {
    return std::nullopt;
  }
  return ref;
}

absl::Status MakeAttemptFiles(const std::string& state_dir, const protocol::Prepare& prepare,
                              const AccountIds* account, SpareFolders* spares,
                              const std::vector<RecordLine>& others, bool home) {
  HPC_RETURN_IF_ERROR(MakeRanksDir(state_dir, prepare, account, home, spares));
  HPC_RETURN_IF_ERROR(MakeRunDir(state_dir, prepare, account, spares));
  const json record = {{"run", prepare.ref.run},
                       {"number", prepare.ref.number},
                       {"devices", prepare.devices},
                       {"first_rank", prepare.first_rank},
                       {"ranks", prepare.ranks},
                       {"stop_grace_ms", absl::ToInt64Milliseconds(prepare.stop_grace)}};
  HPC_RETURN_IF_ERROR(BeginRecord(AttemptDir(state_dir, prepare.ref), record.dump(), others));
  return WriteParams(ParamsFile(RanksDir(state_dir, prepare.ref)), prepare, account);
}

std::vector<protocol::FoundCheckpoint> ListCheckpoints(const std::string& state_dir,
                                                       const protocol::Prepare& prepare,
                                                       const AccountIds* account, absl::Time now) {
  if (ChoosesCheckpointDir(prepare)) return {};
  const FileRights rights(account);
  const std::string folder = CheckpointDir(RunDir(state_dir, prepare.ref.run));
  std::vector<std::string> names = NamesIn(folder).value_or(std::vector<std::string>());
  names.erase(std::remove_if(names.begin(), names.end(), IsNoCheckpoint), names.end());
  std::sort(names.begin(), names.end());
  if (names.size() > protocol::kMostCheckpoints) names.resize(protocol::kMostCheckpoints);
  std::vector<protocol::FoundCheckpoint> found;
  for (const std::string& name : names) {
    struct stat st {};
    if (lstat((folder + "/" + name).c_str(), &st) != 0) continue;
    found.push_back({name, now - absl::TimeFromTimespec(st.st_mtim)});
  }
  return found;
}

absl::Status SyncAttemptFiles(const std::string& state_dir, AttemptRef ref,
                              const SpareFolders* spares) {
  // This comes first: a file system without a journal may bring a folder back under both of its
  // names.
  if (spares != nullptr) HPC_RETURN_IF_ERROR(spares->Sync());
  const std::string attempt_dir = AttemptDir(state_dir, ref);
  for (const std::string& path :
       {AttemptRecordPath(attempt_dir), attempt_dir, state_dir + "/attempts",
        RunDir(state_dir, ref.run), state_dir + "/runs", state_dir}) {
    HPC_RETURN_IF_ERROR(Sync(path));
  }
  return absl::OkStatus();
}

absl::StatusOr<AttemptFile> ReadAttemptFile(const std::string& attempt_dir) {
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadRecord(attempt_dir, kAttemptLine));
  const absl::Status damaged =
      absl::DataLossError(AttemptRecordPath(attempt_dir) + ": the line 'attempt' is damaged");
  const json record = json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    AttemptFile file;
    file.ref = {WholeNumberAt<RunId>(record, "run"), WholeNumberAt<int32_t>(record, "number")};
    for (const json& device : record.at("devices").get_ref<const json::array_t&>()) {
      file.devices.push_back(WholeNumber<int32_t>(device));
    }
    file.first_rank = WholeNumberAt<int32_t>(record, "first_rank");
    file.ranks = WholeNumberAt<int32_t>(record, "ranks");
    file.stop_grace = absl::Milliseconds(WholeNumberAt<int64_t>(record, "stop_grace_ms"));
    const bool possible_grace =
        file.stop_grace >= absl::ZeroDuration() && file.stop_grace <= protocol::kMaxSpan;
    if (!protocol::ArePossibleRanks(file.first_rank, file.ranks) || !possible_grace) {
      return damaged;
    }
    return file;
  } catch (const std::exception&) {
    return damaged;
  }
}

absl::Status RemoveForeignDir(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || info.st_uid == geteuid()) return RemoveTree(path);
  EmptyForeignDir(path, info);
  return rmdir(path.c_str()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "remove " + path);
}

absl::Status RemoveAttemptDir(const std::string& attempt_dir, SpareFolders* spares,
                              bool proved_gone) {
  if (spares != nullptr && SpareAttemptDir(attempt_dir, spares, proved_gone)) {
    return absl::OkStatus();
  }
  HPC_RETURN_IF_ERROR(EndForeignRanks(attempt_dir));
  // The record that identifies the attempt goes first. If, say, its journal went first, the attempt
  // would be found again as one that never started.
  unlink(AttemptRecordPath(attempt_dir).c_str());
  const std::string ranks = absl::StrCat(attempt_dir, "/", kRanks);
  struct stat info;
  const bool foreign = lstat(ranks.c_str(), &info) == 0 && info.st_uid != geteuid();
  if (foreign) HPC_RETURN_IF_ERROR(RemoveForeignDir(ranks));
  return RemoveTree(attempt_dir);
}

absl::Status RemoveEmptyRunDir(const std::string& state_dir, RunId run, SpareFolders* spares) {
  // The next attempt of the run may be here already, and may not have put anything there yet.
  for (const std::string& name : ListAttempts(state_dir)) {
    const std::optional<AttemptRef> other = ParseAttemptName(name);
    if (other && other->run == run) return absl::OkStatus();
  }
  const std::string run_dir = RunDir(state_dir, run);
  if (spares != nullptr && spares->Keep(run_dir, {kCheckpoints})) return absl::OkStatus();
  rmdir(CheckpointDir(run_dir).c_str());
  if (rmdir(run_dir.c_str()) == 0 || errno != ENOTEMPTY) return absl::OkStatus();
  // What stays may be all that a run has left, and the run may have been too short for its files to
  // be synced.
  HPC_RETURN_IF_ERROR(Sync(run_dir));
  return Sync(state_dir + "/runs");
}

absl::Status RemoveAttemptFiles(const std::string& state_dir, AttemptRef ref,
                                SpareFolders* spares) {
  absl::Status removed = RemoveAttemptDir(AttemptDir(state_dir, ref), spares);
  removed.Update(RemoveEmptyRunDir(state_dir, ref.run, spares));
  return removed;
}

std::vector<std::string> ListAttempts(const std::string& state_dir) {
  std::vector<std::string> names =
      NamesIn(state_dir + "/attempts").value_or(std::vector<std::string>());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hpc::worker

#include "worker/runtime/attempt_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/core/rank_environment.h"
#include "worker/os/account.h"
#include "worker/runtime/json_number.h"
#include "worker/supervisor/client.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

constexpr char kRanks[] = "/ranks";
constexpr char kRecord[] = "/attempt.json";

absl::Status GiveTo(const std::string& path, const AccountIds* account) {
  if (account == nullptr || lchown(path.c_str(), account->uid, account->gid) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, "chown " + path);
}

// A folder that another account has to get through, whatever our umask.
absl::Status MakePassage(const std::string& path, const AccountIds* account) {
  HPC_RETURN_IF_ERROR(MakeDirs(path, 0700));
  if (account == nullptr || chmod(path.c_str(), 0711) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "chmod " + path);
}

bool ChoosesCheckpointDir(const Prepare& prepare) {
  return std::any_of(prepare.env.begin(), prepare.env.end(),
                     [](const auto& entry) { return entry.first == "HPC_CHECKPOINT_DIR"; });
}

absl::Status MakeRunDir(const std::string& run_dir, const Prepare& prepare,
                        const AccountIds* account) {
  HPC_RETURN_IF_ERROR(MakeDirs(run_dir, 0700));
  HPC_RETURN_IF_ERROR(GiveTo(run_dir, account));
  if (ChoosesCheckpointDir(prepare)) return absl::OkStatus();
  // An earlier attempt may have put anything there: with its account's rights it leads nowhere.
  const FileRights rights(account);
  return MakeDirs(CheckpointDir(run_dir), 0700);
}

absl::Status MakeFolders(const std::string& state_dir, const Prepare& prepare,
                         const AccountIds* account) {
  HPC_RETURN_IF_ERROR(MakePassage(state_dir + "/attempts", account));
  HPC_RETURN_IF_ERROR(MakePassage(state_dir + "/runs", account));
  HPC_RETURN_IF_ERROR(MakePassage(AttemptDir(state_dir, prepare.ref), account));
  return MakeRunDir(RunDir(state_dir, prepare.ref.run), prepare, account);
}

absl::Status WriteParams(const std::string& path, const Prepare& prepare,
                         const AccountIds* account) {
  if (prepare.params.empty()) return absl::OkStatus();
  json params = json::object();
  for (const auto& [key, value] : prepare.params) params[key] = value;
  HPC_RETURN_IF_ERROR(WriteQuickly(path, params.dump()));
  return GiveTo(path, account);
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
  return AttemptDir(state_dir, ref) + kRanks;
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

absl::Status MakeAttemptFiles(const std::string& state_dir, const Prepare& prepare,
                              const AccountIds* account) {
  HPC_RETURN_IF_ERROR(MakeFolders(state_dir, prepare, account));
  const json record = {{"run", prepare.ref.run},
                       {"number", prepare.ref.number},
                       {"devices", prepare.devices},
                       {"first_rank", prepare.first_rank},
                       {"ranks", prepare.ranks},
                       {"stop_grace_ms", absl::ToInt64Milliseconds(prepare.stop_grace)}};
  HPC_RETURN_IF_ERROR(WriteQuickly(AttemptDir(state_dir, prepare.ref) + kRecord, record.dump()));
  const std::string ranks = RanksDir(state_dir, prepare.ref);
  HPC_RETURN_IF_ERROR(MakeDirs(ranks, 0700));
  HPC_RETURN_IF_ERROR(WriteParams(ParamsFile(ranks), prepare, account));
  // Last: what we write into a folder of another account could lead elsewhere.
  return GiveTo(ranks, account);
}

absl::Status SyncAttemptFiles(const std::string& state_dir, AttemptRef ref) {
  const std::string attempt_dir = AttemptDir(state_dir, ref);
  for (const std::string& path : {attempt_dir + kRecord, attempt_dir, state_dir + "/attempts",
                                  RunDir(state_dir, ref.run), state_dir + "/runs", state_dir}) {
    HPC_RETURN_IF_ERROR(Sync(path));
  }
  return absl::OkStatus();
}

absl::StatusOr<AttemptFile> ReadAttemptFile(const std::string& attempt_dir) {
  HPC_ASSIGN_OR_RETURN(const std::string text, ReadFile(attempt_dir + kRecord, 1 << 20));
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
        file.stop_grace >= absl::ZeroDuration() && file.stop_grace <= kMaxSpan;
    if (!ArePossibleRanks(file.first_rank, file.ranks) || !possible_grace) {
      return absl::DataLossError(attempt_dir + kRecord + " is damaged");
    }
    return file;
  } catch (const std::exception&) {
    return absl::DataLossError(attempt_dir + kRecord + " is damaged");
  }
}

absl::Status RemoveForeignDir(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || info.st_uid == geteuid()) return RemoveTree(path);
  {
    const AccountIds owner{info.st_uid, info.st_gid, {info.st_gid}};
    const FileRights rights(&owner);
    // The folder itself stays: it is in one of ours.
    (void)RemoveTree(path);
  }
  return rmdir(path.c_str()) == 0 ? absl::OkStatus() : ErrnoStatus(errno, "remove " + path);
}

absl::Status RemoveAttemptDir(const std::string& attempt_dir) {
  const std::string ranks = attempt_dir + kRanks;
  struct stat info;
  const bool foreign = lstat(ranks.c_str(), &info) == 0 && info.st_uid != geteuid();
  if (foreign) {
    HPC_RETURN_IF_ERROR(KillLeftovers(attempt_dir.substr(attempt_dir.rfind('/') + 1), ranks, {}));
  }
  // First: without its journal, say, the attempt would be found again as one that never started.
  unlink((attempt_dir + kRecord).c_str());
  if (foreign) HPC_RETURN_IF_ERROR(RemoveForeignDir(ranks));
  return RemoveTree(attempt_dir);
}

absl::Status RemoveAttemptFiles(const std::string& state_dir, AttemptRef ref) {
  const absl::Status removed = RemoveAttemptDir(AttemptDir(state_dir, ref));
  // The next attempt of the run may be here already, and still have nothing to put there.
  for (const std::string& name : ListAttempts(state_dir)) {
    const std::optional<AttemptRef> other = ParseAttemptName(name);
    if (other && other->run == ref.run) return removed;
  }
  const std::string run_dir = RunDir(state_dir, ref.run);
  rmdir(CheckpointDir(run_dir).c_str());
  // What stays may be all that came of a run that was too short for its files to be synced.
  if (rmdir(run_dir.c_str()) != 0 && errno == ENOTEMPTY) {
    for (const std::string& path : {run_dir, state_dir + "/runs"}) HPC_RETURN_IF_ERROR(Sync(path));
  }
  return removed;
}

absl::Status WriteQuickly(const std::string& path, const std::string& text) {
  // Ranks of our own account may have put a pipe or a link there.
  constexpr int kHoldsNobodyUp = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  const UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | kHoldsNobodyUp, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, "make " + path);
  const ssize_t n = write(fd.get(), text.data(), text.size());
  if (n < 0) return ErrnoStatus(errno, "write " + path);
  if (static_cast<size_t>(n) != text.size()) return ErrnoStatus(ENOSPC, "write " + path);
  return absl::OkStatus();
}

std::vector<std::string> ListAttempts(const std::string& state_dir) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir((state_dir + "/attempts").c_str()),
                                                   &closedir);
  if (folder == nullptr) return names;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hpc::worker

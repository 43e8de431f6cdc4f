#include "coordinator/store/logs/log_store.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/store/logs/run_log.h"

namespace hpc::coordinator {
namespace {

// The number of runs whose state is kept in memory. Above it, those not used for longest are
// dropped; their files tell the same when they are asked for again.
constexpr size_t kMaxOpenRuns = 4096;

class FileLogStore : public LogStore {
 public:
  FileLogStore(std::string dir, const LogStoreOptions& options, LogFiles* files)
      : dir_(std::move(dir)), options_(options), files_(files) {}

  absl::StatusOr<int64_t> Append(const protocol::StreamId& stream, int64_t offset,
                                 absl::string_view data, absl::Time now) override {
    const bool in_range =
        offset >= 0 && offset <= kMaxLogPosition - static_cast<int64_t>(data.size());
    if (stream.ref.run <= 0 || stream.ref.number <= 0 || stream.rank < 0 || !in_range) {
      return absl::InvalidArgumentError(absl::StrCat("no stream of a rank: attempt ",
                                                     stream.ref.ToString(), ", rank ", stream.rank,
                                                     ", offset ", offset));
    }
    HPC_ASSIGN_OR_RETURN(RunLog* const log, Find(stream.ref.run));
    const bool was_dirty = log->dirty();
    absl::StatusOr<int64_t> length = log->Append(stream, offset, data, now);
    if (log->dirty() && !was_dirty) dirty_.push_back(stream.ref.run);
    return length;
  }

  absl::Status EndStream(const protocol::StreamId& stream, int64_t cut_bytes) override {
    if (cut_bytes < 0 || cut_bytes > kMaxLogPosition) {
      return absl::InvalidArgumentError(absl::StrCat("attempt ", stream.ref.ToString(), ", rank ",
                                                     stream.rank, ": ", cut_bytes,
                                                     " bytes cannot have been dropped"));
    }
    HPC_ASSIGN_OR_RETURN(RunLog* const log, Find(stream.ref.run));
    if (!log->dirty()) dirty_.push_back(stream.ref.run);
    log->EndStream(stream, cut_bytes);
    return absl::OkStatus();
  }

  absl::Status Flush(WriteBatch* batch) override {
    while (!dirty_.empty()) {
      HPC_RETURN_IF_ERROR(runs_[dirty_.back()].log->Flush(batch));
      dirty_.pop_back();
    }
    if (runs_.size() > kMaxOpenRuns) LetGo();
    return absl::OkStatus();
  }

  bool dirty() const override { return !dirty_.empty(); }

  absl::StatusOr<std::vector<std::pair<protocol::StreamId, int64_t>>> Lengths(
      AttemptRef ref) override {
    HPC_ASSIGN_OR_RETURN(RunLog* const log, Find(ref.run));
    return log->Lengths(ref);
  }

  absl::Status Seal(RunId run, WriteBatch* batch) override {
    HPC_ASSIGN_OR_RETURN(RunLog* const log, Find(run));
    HPC_RETURN_IF_ERROR(log->Seal(batch));
    dirty_.erase(std::remove(dirty_.begin(), dirty_.end(), run), dirty_.end());
    runs_.erase(run);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<LogRecord>> Read(RunId run, int64_t position,
                                              int64_t max_bytes) override {
    HPC_ASSIGN_OR_RETURN(RunLog* const log, Find(run));
    return log->Read(position, max_bytes, &cache_);
  }

  int64_t EndPosition(RunId run) override {
    const absl::StatusOr<RunLog*> log = Find(run);
    return log.ok() ? (*log)->EndPosition() : 0;
  }

 private:
  struct Open {
    std::unique_ptr<RunLog> log;
    uint64_t last_use = 0;
  };

  absl::StatusOr<RunLog*> Find(RunId run) {
    Open& open = runs_[run];
    open.last_use = ++uses_;
    if (open.log == nullptr) {
      absl::StatusOr<std::unique_ptr<RunLog>> opened =
          RunLog::Open(absl::StrCat(dir_, "/", run), run, options_, files_);
      if (!opened.ok()) {
        runs_.erase(run);
        return opened.status();
      }
      open.log = *std::move(opened);
    }
    return open.log.get();
  }

  // Keeps the half that was used most recently.
  void LetGo() {
    const uint64_t oldest_kept = uses_ - std::min<uint64_t>(uses_, kMaxOpenRuns / 2);
    absl::erase_if(runs_, [&](const auto& entry) { return entry.second.last_use <= oldest_kept; });
  }

  const std::string dir_;
  const LogStoreOptions options_;
  LogFiles* const files_;
  absl::flat_hash_map<RunId, Open> runs_;
  std::vector<RunId> dirty_;
  uint64_t uses_ = 0;
  SealedCache cache_;
};

}  // namespace

absl::Status CheckLogsAreOf(const std::string& dir, RunId last_run, LogFiles* files) {
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(dir));
  RunId newest = 0;
  for (const std::string& name : names) {
    RunId run = 0;
    if (absl::SimpleAtoi(name, &run)) newest = std::max(newest, run);
  }
  if (newest <= last_run) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(dir, " has output of run ", newest, ", but hpc.db beside it ",
                   last_run == 0 ? "is missing or new: it knows no run"
                                 : absl::StrCat("is older: the last run it knows is ", last_run),
                   ". Restore the hpc.db that belongs to these logs, or move ",
                   last_run == 0 ? "logs away to begin anew, without what was revoked and with "
                                   "run numbers that PCs know: docs/OPERATIONS.md"
                                 : absl::StrCat("the folders above ", last_run, " out of it")));
}

absl::StatusOr<std::unique_ptr<LogStore>> LogStore::Open(const std::string& dir,
                                                         const LogStoreOptions& options,
                                                         LogFiles* files) {
  HPC_RETURN_IF_ERROR(files->MakeDir(dir));
  return std::make_unique<FileLogStore>(dir, options, files);
}

}  // namespace hpc::coordinator

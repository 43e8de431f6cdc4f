#include "coordinator/runtime/backup_job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

constexpr int kNice = 10;
constexpr int64_t kPiece = 256 << 10;
constexpr int64_t kReadAhead = 4 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<BackupJob>> BackupJob::Start(const std::string& state_dir,
                                                            bool with_logs, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<BackupMaker> maker,
                       BackupMaker::Begin(state_dir, with_logs, now));
  std::unique_ptr<BackupJob> job(new BackupJob(state_dir, std::move(maker)));
  job->thread_ = std::thread([raw = job.get()] { raw->Make(); });
  return job;
}

BackupJob::BackupJob(const std::string& state_dir, std::unique_ptr<BackupMaker> maker)
    : path_(UnfinishedBackup(state_dir)), maker_(std::move(maker)) {}

BackupJob::~BackupJob() {
  maker_->Cancel();
  if (thread_.joinable()) thread_.join();
}

void BackupJob::Make() {
  // Lowers the priority of this thread alone, so that the owner's thread goes first.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  absl::Status status = maker_->Make([this](const std::string& doing) {
    absl::MutexLock lock(&mutex_);
    doing_ = doing;
  });
  if (status.ok()) status = TakeFile();
  absl::MutexLock lock(&mutex_);
  result_ = std::move(status);
}

absl::Status BackupJob::TakeFile() {
  file_ = UniqueFd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const int error = errno;
  unlink(path_.c_str());
  if (!file_.ok()) return ErrnoStatus(error, absl::StrCat("open ", path_));
  struct stat info;
  if (fstat(file_.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path_));
  bytes_ = info.st_size;
  return absl::OkStatus();
}

std::string BackupJob::doing() const {
  absl::MutexLock lock(&mutex_);
  return doing_;
}

std::optional<absl::Status> BackupJob::result() const {
  absl::MutexLock lock(&mutex_);
  return result_;
}

int64_t BackupJob::bytes() const { return bytes_; }

absl::StatusOr<std::string> BackupJob::Read() {
  std::string piece(static_cast<size_t>(std::min(kPiece, bytes_ - read_)), '\0');
  if (piece.empty()) return piece;
  const ssize_t n = pread(file_.get(), piece.data(), piece.size(), read_);
  if (n <= 0) return ErrnoStatus(n < 0 ? errno : EIO, absl::StrCat("read ", path_));
  piece.resize(static_cast<size_t>(n));
  read_ += n;
  posix_fadvise(file_.get(), read_, kReadAhead, POSIX_FADV_WILLNEED);
  return piece;
}

}  // namespace hpc::coordinator

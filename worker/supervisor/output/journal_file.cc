#include "worker/supervisor/output/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace hpc::worker {
namespace {

constexpr off_t kReserveBytes = 16 << 10;
// Enough for a rank's start, its end, and what was cut of its two streams.
constexpr off_t kReserveBytesOfRank = 256;

}  // namespace

void JournalFile::Adopt(UniqueFd file, size_t ranks) {
  file_ = std::move(file);
  // Not every file system can do this. If it cannot, the journal is as safe as any other file.
  (void)fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, lseek(file_.get(), 0, SEEK_END),
                  kReserveBytes + kReserveBytesOfRank * static_cast<off_t>(ranks));
}

bool JournalFile::Write() {
  while (!pending_.empty()) {
    const ssize_t n = write(file_.get(), pending_.data(), pending_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    pending_.erase(0, n);
  }
  return true;
}

void JournalFile::Sync() { fdatasync(file_.get()); }

}  // namespace hpc::worker

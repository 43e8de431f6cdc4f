// Where a command writes: buffered, and aware of whether a person is looking.
#ifndef HPC_CLIENT_CLI_SHOW_OUTPUT_H_
#define HPC_CLIENT_CLI_SHOW_OUTPUT_H_

#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/process/bell.h"
#include "common/unique_fd.h"

namespace hpc::client {

// Thread-safe.
class Output {
 public:
  // Writes to `fd`. Colours and line width are taken from the terminal, if it is one; NO_COLOR and
  // TERM=dumb turn colours off.
  static Output ForFd(int fd);
  // Keeps everything in text(), as if written to a terminal `width` wide (0: to a pipe).
  static Output ToText(int width = 0);

  // Queued, and written when much has gathered or on Flush.
  void Write(absl::string_view text);
  void Flush();

  // From now on a write, also the one that waits just now, waits no longer than `patience` for
  // whoever reads; then it fails with DeadlineExceeded. Does not wait for a write itself.
  void WaitAtMost(absl::Duration patience);
  // Writes it past all that is queued, where that is possible without waiting.
  void Interject(absl::string_view text) const;

  // Whether both write to one terminal, pipe or file.
  bool SharesWith(const Output& other) const;

  bool terminal() const { return terminal_; }
  bool colours() const { return colours_; }
  // Columns of the terminal; 0 when there is none.
  int width() const { return width_; }

  // The first failure to write (a full disk, no reader); everything after it is dropped.
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }
  // What ToText has kept.
  std::string text() const {
    absl::MutexLock lock(&mutex_);
    return buffer_;
  }

 private:
  Output(int fd, bool terminal, bool colours, int width);
  void FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLocked(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until something can be written, or its failure be told. False: not in time.
  bool AwaitRoom() const;
  // As write(2), and without waiting wherever that can be had.
  ssize_t WriteSome(absl::string_view text) const;

  const UniqueFd own_;  // what is written to, opened once more, where that can be done
  const int fd_;        // -1: kept in the buffer
  const bool socket_;
  const size_t at_once_;  // bytes that one write takes
  const Bell hurry_;
  std::atomic<int> patience_ms_ = -1;  // as of poll(2)
  const bool terminal_, colours_;
  const int width_;
  mutable absl::Mutex mutex_;
  std::string buffer_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_OUTPUT_H_

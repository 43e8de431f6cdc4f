// The place that a command writes to: buffered, and aware of whether a person is looking.
#ifndef HPC_CLIENT_CLI_FORMS_OUTPUT_H_
#define HPC_CLIENT_CLI_FORMS_OUTPUT_H_

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
  // Writes to `fd`. Colours and line width depend on the terminal, if it is one; NO_COLOR and
  // TERM=dumb turn colours off.
  static Output ForFd(int fd);
  // Keeps everything in text(), as if written to a terminal that is `width` wide (0: to a pipe).
  static Output ToText(int width = 0);

  // Text is queued, and written when much has gathered or on Flush.
  void Write(absl::string_view text);
  void Flush();

  // From now on a write waits at most `patience` for whoever reads, also a write that waits now. It
  // fails with DeadlineExceeded after that. Does not wait for a write itself.
  void WaitAtMost(absl::Duration patience);
  // Writes the text past all that is queued, where that is possible without waiting.
  void Interject(absl::string_view text) const;

  // Returns whether both write to one terminal, pipe or file.
  bool SharesWith(const Output& other) const;

  bool terminal() const { return terminal_; }
  bool colours() const { return colours_; }
  // The width of the terminal in columns; 0 when there is none.
  int width() const { return width_; }

  // The first failure to write (a full disk, or nobody who reads). Everything after it is dropped.
  absl::Status status() const {
    absl::MutexLock lock(&mutex_);
    return status_;
  }
  // Returns what ToText has kept.
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

  const UniqueFd own_;  // the same file, opened once more, where that can be done
  const int fd_;        // -1: output stays in the buffer
  const bool socket_;
  const size_t at_once_;  // bytes that one write takes
  const Bell hurry_;
  std::atomic<int> patience_ms_ = -1;  // in the sense of poll(2)
  const bool terminal_, colours_;
  const int width_;
  mutable absl::Mutex mutex_;
  std::string buffer_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_OUTPUT_H_

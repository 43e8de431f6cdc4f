// The place that a command writes to: buffered, and aware of whether a person is looking.
#ifndef HPC_CLIENT_CLI_SHOW_OUTPUT_H_
#define HPC_CLIENT_CLI_SHOW_OUTPUT_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

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

  // Returns whether both write to one terminal, pipe or file.
  bool SharesWith(const Output& other) const;

  bool terminal() const { return terminal_; }
  bool colours() const { return colours_; }
  // The width of the terminal in columns; 0 when there is none.
  int width() const { return width_; }

  // The first failure to write (a full disk, for example). Everything after it is dropped.
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
  Output(int fd, bool terminal, bool colours, int width)
      : fd_(fd), terminal_(terminal), colours_(colours), width_(width) {}
  void FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLocked(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int fd_;  // -1: output stays in the buffer
  const bool terminal_, colours_;
  const int width_;
  mutable absl::Mutex mutex_;
  std::string buffer_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_OUTPUT_H_

// Knows whether a rank's output has left the cursor in the middle of a line, so that our own words
// can begin on a line of their own.
#ifndef HPC_CLIENT_CLI_SHOW_OPEN_LINE_H_
#define HPC_CLIENT_CLI_SHOW_OPEN_LINE_H_

#include <atomic>

#include "absl/strings/string_view.h"

namespace hpc::client {

// Thread-safe without a lock: an interrupt must be able to write while output is stuck.
class OpenLine {
 public:
  // `shared` means that stdout and stderr go to the same place.
  explicit OpenLine(bool shared) : shared_(shared) {}

  void Wrote(bool is_stderr, absl::string_view text) {
    if (!text.empty()) Of(is_stderr) = text.back() != '\n';
  }
  // Returns what to write to stderr before our own words: "\n" in the middle of a rank's line, else
  // "".
  absl::string_view End() { return Of(true).exchange(false) ? "\n" : ""; }

 private:
  std::atomic<bool>& Of(bool is_stderr) { return is_stderr || shared_ ? stderr_ : stdout_; }

  const bool shared_;
  std::atomic<bool> stdout_ = false, stderr_ = false;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_OPEN_LINE_H_

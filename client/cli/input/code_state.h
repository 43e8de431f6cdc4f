// Reads which code a run is started from: git's commit, branch and uncommitted changes. Reading it
// never delays a submission by more than a fixed time, and costs nothing outside a git work tree.
#ifndef HPC_CLIENT_CLI_INPUT_CODE_STATE_H_
#define HPC_CLIENT_CLI_INPUT_CODE_STATE_H_

#include <sys/types.h>

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

inline constexpr size_t kMaxDiffBytes = 1 << 20;
// A slow repository holds a submission up for no longer than this.
inline constexpr absl::Duration kCodeStateTime = absl::Milliseconds(250);

// Starts git on construction, so that git works while the caller connects.
class CodeStateReader {
 public:
  // Does nothing if neither `directory` nor a folder above it holds a ".git".
  explicit CodeStateReader(const std::string& directory);
  ~CodeStateReader();
  CodeStateReader(const CodeStateReader&) = delete;
  CodeStateReader& operator=(const CodeStateReader&) = delete;

  // Waits for git until `limit` after construction, and returns what there is by then. A difference
  // that was not read to its end is marked as cut.
  v1::CodeState Finish(absl::Duration limit);

 private:
  struct Process {
    pid_t pid = 0;
    UniqueFd out;
    std::string text;
    bool ended = false;  // all of its output has been read
  };
  static Process Start(const std::string& directory, const std::string& arguments);
  // Reads what `process` has written so far.
  static void Drain(Process* process, size_t max_bytes);
  static void End(Process* process);

  absl::Time started_;
  Process head_, diff_;
};

// Makes the state from the three lines of `git rev-parse --show-toplevel HEAD --abbrev-ref HEAD`
// and a difference. Pure.
v1::CodeState MakeCodeState(absl::string_view head, absl::string_view diff, bool diff_complete);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_CODE_STATE_H_

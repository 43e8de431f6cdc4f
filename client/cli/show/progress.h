// One line on the terminal that says what is being waited for, and disappears.
#ifndef HPC_CLIENT_CLI_SHOW_PROGRESS_H_
#define HPC_CLIENT_CLI_SHOW_PROGRESS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/forms/output.h"
#include "client/cli/show/open_line.h"

namespace hpc::client {

// Thread-safe. It draws on `err`, and only if that is a terminal. Clear it before anything else is
// written to the same terminal.
class Progress {
 public:
  Progress(Output* err, OpenLine* ranks) : err_(err), ranks_(ranks) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Replaces the line by `text`, cut to the width of the terminal.
  void Show(absl::string_view text);
  void Clear();

 private:
  Output* err_;
  OpenLine* ranks_;
  absl::Mutex mutex_;
  std::string shown_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_PROGRESS_H_

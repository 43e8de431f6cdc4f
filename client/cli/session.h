// The surroundings of a command: where it writes, the global options, and the coordinator.
#ifndef HPC_CLIENT_CLI_SESSION_H_
#define HPC_CLIENT_CLI_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/api.h"
#include "client/cli/forms/output.h"
#include "client/cli/show/progress.h"
#include "client/discovery.h"

namespace hpc::client {

class Listing;

// The options that every command has.
struct GlobalOptions {
  std::string coordinator;
  bool insecure = false;
};

class Session {
 public:
  Session(Output* out, Output* err, Environment environment)
      : out_(out),
        err_(err),
        environment_(std::move(environment)),
        ranks_(out->SharesWith(*err)),
        progress_(err, &ranks_) {}

  Output& out() { return *out_; }
  Output& err() { return *err_; }
  // Knows whether the ranks' output, which is passed on as it comes, has left a line open.
  OpenLine& ranks() { return ranks_; }
  Progress& progress() { return progress_; }
  GlobalOptions& global() { return global_; }
  const Environment& environment() const { return environment_; }

  // Connects on first use. FindCoordinator's InvalidArgument becomes a usage error. If plain text
  // was asked for, stderr says so.
  absl::StatusOr<Client*> Connect();
  // Ends the calls once nothing more can be written to stdout. A command that follows something
  // would not notice for long.
  void LeaveIfUnwritten();
  // Is called after a command that succeeded. It remembers the address that answered, and renews
  // the user's certificate if that is due.
  void KeepMembership();

  // Returns the time that ages are counted from: the coordinator's if it says one, else ours.
  static int64_t NowUs(int64_t said);

  // Writes the rows of a listing that are finished already.
  void Spill(Listing* listing);
  // Writes the rest of a listing. A table without rows is replaced by `if_empty` as a notice.
  void Print(Listing* listing, absl::string_view if_empty);

  // Writes "hpcctl: <text>" to stderr, past the progress line, on a line of its own. Thread-safe.
  void Notice(absl::string_view text);
  // Does the same with one write and without a lock, for an interrupt while the output is stuck. If
  // stderr is stuck as well, nothing is said.
  void Interject(absl::string_view text);
  // How long from now on a write to stdout or stderr waits for whoever reads. What is not read then
  // fails to be written.
  void WaitForReaders(absl::Duration patience);

 private:
  Output* out_;
  Output* err_;
  Environment environment_;
  OpenLine ranks_;
  Progress progress_;
  GlobalOptions global_;
  Way way_;
  std::unique_ptr<Client> client_;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SESSION_H_

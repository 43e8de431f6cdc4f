// What a command works with: where it writes, what it was told for all commands, and the
// coordinator.
#ifndef HPC_CLIENT_CLI_SESSION_H_
#define HPC_CLIENT_CLI_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/api.h"
#include "client/cli/show/output.h"
#include "client/cli/show/progress.h"
#include "client/discovery.h"

namespace hpc::client {

// Options that every command has.
class Listing;

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
  // What the output of ranks, which comes as it is, has left open.
  OpenLine& ranks() { return ranks_; }
  Progress& progress() { return progress_; }
  GlobalOptions& global() { return global_; }
  const Environment& environment() const { return environment_; }

  // Connects on first use. What FindCoordinator takes for an invalid argument is a usage error;
  // that plain text was asked for is said on stderr.
  absl::StatusOr<Client*> Connect();
  // Ends the calls where stdout takes no more: who follows something would not notice for long.
  void LeaveIfUnwritten();
  // What is to be done behind a command that succeeded: remembers the address that answered, and
  // renews the user's certificate if that is due.
  void KeepMembership();

  // What ages are counted from: the coordinator's time if it says it, else ours.
  static int64_t NowUs(int64_t said);

  // Rows of a listing that are finished already.
  void Spill(Listing* listing);
  // The rest of a listing; in the place of a table without rows `if_empty` as a notice.
  void Print(Listing* listing, absl::string_view if_empty);

  // "hpcctl: <text>" on stderr, past the progress line, on a line of its own. Thread-safe.
  void Notice(absl::string_view text);
  // The same with one write and without a lock, for an interrupt while the output is stuck. Where
  // stderr is, too, nothing is said.
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

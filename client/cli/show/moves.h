// Tells of a run that waits, or is stopped and goes on elsewhere. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_MOVES_H_
#define HPC_CLIENT_CLI_SHOW_MOVES_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::client {

class Moves {
 public:
  // `waits`: there is no progress line, so tell also what a run waits for that has not started yet,
  // or whose end takes long.
  explicit Moves(bool waits) : waits_(waits) {}

  // One line when an attempt has ended and its run goes on: why, and where or what it waits for.
  // "" for what needs no word. Where it goes on is often known a moment later: the line comes then.
  // Nothing of a run that was over before: how it went is history.
  std::string Tell(absl::Time now, const v1::RunUpdate& update);

 private:
  std::string TellOfStop(absl::Time now, const v1::RunUpdate& update);

  const bool waits_;
  std::optional<bool> over_before_;  // unset until it is heard of
  absl::Time stopping_since_ = absl::InfiniteFuture();
  bool stop_told_ = false;
  std::string ended_;  // not told yet
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_MOVES_H_

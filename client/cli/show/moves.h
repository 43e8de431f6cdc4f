// Tells about a run that waits, or that is stopped and goes on elsewhere. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_MOVES_H_
#define HPC_CLIENT_CLI_SHOW_MOVES_H_

#include <optional>
#include <string>

#include "common/clock.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::client {

class Moves {
 public:
  // `waits` means that there is no progress line. Then it also tells what a run that has not
  // started yet waits for, and that a stop takes long.
  explicit Moves(bool waits) : waits_(waits) {}

  // Returns one line when an attempt has ended and its run goes on: why it ended, and where the run
  // goes on or what it waits for. Where it goes on is often known a moment later, and then the line
  // comes later. Returns "" if there is nothing to say, for what happened before the run was
  // followed, and for a run that was over by then; but for what it waits for now.
  std::string Tell(MonoTime now, const v1::RunUpdate& update);

 private:
  std::string TellOfEvent(const v1::RunUpdate& update);
  std::string TellOfStop(MonoTime now, const v1::RunUpdate& update);

  const bool waits_;
  std::optional<bool> over_before_;  // unset until the first update
  MonoTime followed_since_;          // the time of the first update
  std::string wait_;                 // what it was last told to wait for
  MonoTime stopping_since_ = MonoTime::Infinite();
  bool stop_told_ = false;
  std::string ended_;  // the end of an attempt that was not told yet
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_MOVES_H_

// How and when a rank ended: RankExit in proto/hpc/v1/run.proto, without protobuf.
#ifndef HPC_PROTOCOL_RANK_EXIT_H_
#define HPC_PROTOCOL_RANK_EXIT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace hpc::protocol {

// A traceback that was written longer before the end than this does not date the failure.
inline constexpr absl::Duration kLongestEnding = absl::Seconds(5);

// How a rank ended. Once it has ended, exactly one of exit_code and signal is set.
struct RankExit {
  std::optional<int32_t> exit_code;
  std::optional<int32_t> signal;
  bool after_stop = false;  // it ended after it was told to, which never counts as success
  std::string message;      // from its error file, else the last lines of stderr
  std::string traceback;    // Python's, from the error file; may be empty
  // The program catches SIGTERM. So it may have answered one, however it ended.
  bool catches_sigterm = false;
  // How long before its end a rank that failed wrote its traceback: Python may have much to do
  // between the two. Zero: not known.
  absl::Duration words_before_end = {};

  bool operator==(const RankExit&) const = default;
};

// Nodes of a gang that do not hear each other for less than this are not apart.
inline constexpr absl::Duration kApart = absl::Seconds(1);

// A time in which a node did not hear all others of its gang, counted back from a report.
struct Apart {
  absl::Duration from;
  absl::Duration until;  // zero: it goes on

  bool operator==(const Apart&) const = default;
};

// How long before a report a rank started and ended; zero for what has not happened. The difference
// is how long the rank ran, as its supervisor measured it.
struct RankAges {
  absl::Duration started;
  absl::Duration ended;
  absl::Duration ended_within = {};  // it may have ended up to this much earlier: nobody looked
  std::optional<Apart> apart = {};   // the last one that began before the rank ended

  bool operator==(const RankAges&) const = default;
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_RANK_EXIT_H_

// A PC that goes down sends SIGTERM to all of its processes, in any order, and perhaps to a rank
// first. Whether the end of a rank may be the answer to that.
#ifndef HPC_PROTOCOL_SIGTERM_ANSWER_H_
#define HPC_PROTOCOL_SIGTERM_ANSWER_H_

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "protocol/rank_exit.h"

namespace hpc::protocol {

// All processes of the PC get it within this time.
inline constexpr absl::Duration kSigtermSpread = absl::Seconds(1);

// Words with which Python programs end that a signal has interrupted.
inline constexpr std::array kWordsOfSignals = {
    "sigterm", "signal: 15", "signal 15", "signalexception", "keyboardinterrupt", "systemexit"};

inline bool MayAnswerSigterm(const RankExit& exit) {
  constexpr int32_t kSigint = 2, kSigterm = 15;
  if (exit.after_stop) return false;
  // An uncaught KeyboardInterrupt ends Python by SIGINT.
  if (exit.signal) {
    return exit.signal == kSigterm || (exit.signal == kSigint && exit.catches_sigterm);
  }
  if (exit.exit_code == 128 + kSigterm) return true;
  if (!exit.catches_sigterm) return false;
  if (exit.traceback.empty()) return true;
  // An uncaught exception is an answer only if it says so.
  const std::string words = absl::AsciiStrToLower(exit.message);
  return std::any_of(kWordsOfSignals.begin(), kWordsOfSignals.end(),
                     [&](const char* word) { return absl::StrContains(words, word); });
}

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_SIGTERM_ANSWER_H_

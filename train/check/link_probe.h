// Measures how fast the network between two ranks is: TCP between two sockets, without LibTorch.
//
// One end listens and answers, the other calls and measures. A caller is answered only if it knows
// the word that the ranks have told each other.
#ifndef HPC_TRAIN_CHECK_LINK_PROBE_H_
#define HPC_TRAIN_CHECK_LINK_PROBE_H_

#include <chrono>
#include <string>

#include "common/unique_fd.h"

namespace hpc::train {

struct LinkSpeed {
  double round_trip = 0;  // seconds for one byte there and back: the median of 20
  double there = 0;       // bytes per second from the caller to the other end
  double back = 0;        // bytes per second in the other direction
};

struct ProbeOptions {
  std::string word;                            // from RandomWord() of own_address.h
  std::chrono::milliseconds measure{200};      // the least time for each direction
  std::chrono::milliseconds patience{10'000};  // how long a peer may do nothing
};

// Calls the rank that answers at `endpoint`, "ADDR:PORT". Throws std::runtime_error that says what
// went wrong with the connection.
LinkSpeed MeasureLink(const std::string& endpoint, const ProbeOptions& options);

// Serves one caller that knows the word, until it has measured. Throws like MeasureLink.
void AnswerProbe(int listener, const ProbeOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_LINK_PROBE_H_

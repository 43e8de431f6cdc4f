// How fast the network between two ranks is: TCP between two sockets, without LibTorch.
//
// One end listens and answers, the other calls and measures. Nobody is answered who does not know
// the word that the ranks have told each other.
#ifndef HPC_TRAIN_CHECK_LINK_PROBE_H_
#define HPC_TRAIN_CHECK_LINK_PROBE_H_

#include <chrono>
#include <string>

#include "common/unique_fd.h"

namespace hpc::train {

struct LinkSpeed {
  double round_trip = 0;  // seconds, of one byte there and back: the median of 20
  double there = 0;       // bytes per second from who calls to who answers
  double back = 0;        // the other way
};

struct ProbeOptions {
  std::string word;                            // RandomWord() of own_address.h
  std::chrono::milliseconds measure{200};      // at least, each way
  std::chrono::milliseconds patience{10'000};  // with a peer that does nothing
};

// Calls the rank that answers at `endpoint`, "ADDR:PORT". Throws std::runtime_error that says what
// went wrong with the connection.
LinkSpeed MeasureLink(const std::string& endpoint, const ProbeOptions& options);

// Serves one caller that knows the word, until it has measured. Throws as above.
void AnswerProbe(int listener, const ProbeOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_LINK_PROBE_H_

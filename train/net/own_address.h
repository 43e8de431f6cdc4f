// Where the other ranks reach this one, and a word that only they know.
#ifndef HPC_TRAIN_NET_OWN_ADDRESS_H_
#define HPC_TRAIN_NET_OWN_ADDRESS_H_

#include <string>

#include "train/net/launch_environment.h"

namespace hpc::train {

// An IP literal of this PC: that of the first interface of GLOO_SOCKET_IFNAME which has one, or the
// one from which this PC reaches MASTER_ADDR; where that is a name which leads to this PC's
// loopback, one by which others reach it, if there is any. Throws std::runtime_error where there is
// none.
std::string OwnAddress(const LaunchEnvironment& environment);

// 32 characters that nobody can guess.
std::string RandomWord();

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_OWN_ADDRESS_H_

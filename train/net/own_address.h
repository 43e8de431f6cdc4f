// The address at which the other ranks reach this one, and a word that only they know.
#ifndef HPC_TRAIN_NET_OWN_ADDRESS_H_
#define HPC_TRAIN_NET_OWN_ADDRESS_H_

#include <string>

#include "train/net/launch_environment.h"

namespace hpc::train {

// Returns an IP literal of this PC. It is that of the first interface of GLOO_SOCKET_IFNAME that
// has one, or else the one from which this PC reaches MASTER_ADDR. If MASTER_ADDR is a name that
// leads to this PC's loopback, it is one at which others reach this PC, if there is any. Throws
// std::runtime_error where there is no address.
std::string OwnAddress(const LaunchEnvironment& environment);

// Returns 32 characters that nobody can guess.
std::string RandomWord();

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_OWN_ADDRESS_H_

// Cuts the connections that Gloo made, which it has no call for: Backend::abort() does nothing. An
// operation that waits on one ends with an error at once.
#ifndef HPC_TRAIN_TCP_CONNECTIONS_H_
#define HPC_TRAIN_TCP_CONNECTIONS_H_

#include <set>
#include <string>
#include <vector>

namespace hpc::train {

// "ADDR:PORT" of all TCP sockets of this process that listen.
std::set<std::string> ListeningEndpoints();

// Shuts down every TCP connection of this process one end of which is among `endpoints`
// ("ADDR:PORT"). Their descriptors stay open; their owner closes them. From any thread.
void CutConnections(const std::set<std::string>& endpoints);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TCP_CONNECTIONS_H_

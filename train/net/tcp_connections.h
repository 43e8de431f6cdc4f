// Cuts connections that libraries made and have no call for: Gloo's Backend::abort() does nothing,
// and c10d's store waits for ever. An operation that waits on one ends with an error at once.
#ifndef HPC_TRAIN_NET_TCP_CONNECTIONS_H_
#define HPC_TRAIN_NET_TCP_CONNECTIONS_H_

#include <set>
#include <string>
#include <vector>

namespace hpc::train {

// "ADDR:PORT" of all TCP sockets of this process that listen.
std::set<std::string> ListeningEndpoints();

// Shuts down every TCP connection of this process one end of which is among `endpoints`
// ("ADDR:PORT"). Their descriptors stay open; their owner closes them. From any thread.
void CutConnections(const std::set<std::string>& endpoints);

// The same of those to `port`, of whatever PC.
void CutConnectionsTo(int port);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_TCP_CONNECTIONS_H_

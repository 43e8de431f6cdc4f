// Cuts connections that libraries made and that cannot be ended by a call: Gloo's Backend::abort()
// does nothing, and c10d's store waits for ever. An operation that waits on such a connection then
// ends with an error at once.
#ifndef HPC_TRAIN_NET_TCP_CONNECTIONS_H_
#define HPC_TRAIN_NET_TCP_CONNECTIONS_H_

#include <set>
#include <string>
#include <vector>

namespace hpc::train {

// Returns "ADDR:PORT" of all TCP sockets of this process that listen.
std::set<std::string> ListeningEndpoints();

// Shuts down every TCP connection of this process that has one end among `endpoints` ("ADDR:PORT").
// The descriptors stay open until their owner closes them. May be called from any thread.
void CutConnections(const std::set<std::string>& endpoints);

// Does the same to connections with `port`, on whatever PC.
void CutConnectionsTo(int port);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_TCP_CONNECTIONS_H_

// Finds out which account's program is at the other end of a TCP connection, if it is on this
// machine.
#ifndef HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_
#define HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_

#include <cstdint>
#include <optional>

namespace hpc::worker::store {

// False if the other end of `socket` is at an address of this machine, and its program does not
// belong to the account with the number `uid`. True if the program is on another machine, about
// which nothing is known here, or if the kernel cannot be asked (no INET_DIAG).
bool MayBeOf(int socket, uint32_t uid);
// The account of the program at the other end. nullopt: it is not on this machine, has gone, or the
// kernel cannot be asked.
std::optional<uint32_t> AccountOf(int socket);

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_

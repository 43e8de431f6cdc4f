// Whose program is at the other end of a TCP connection, if it is one of this machine's.
#ifndef HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_
#define HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_

#include <cstdint>

namespace hpc::worker::store {

// False if the other end of `socket` is at an address of this machine and its program is not of the
// account with the number `uid`. Of other machines' programs nothing is known here. Also true where
// the kernel cannot be asked (no INET_DIAG).
bool MayBeOf(int socket, uint32_t uid);

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_PEER_ACCOUNT_H_

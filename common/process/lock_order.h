// Abseil's detector of locks that are taken in different orders.
#ifndef HPC_COMMON_PROCESS_LOCK_ORDER_H_
#define HPC_COMMON_PROCESS_LOCK_ORDER_H_

namespace hpc {

// Turns the detector off for the whole process. Debian's Abseil is built with it. It takes a lock
// of the whole process at every lock that gRPC takes, and it ends the process when it believes that
// it has found a cycle.
void TrustLockOrder();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_LOCK_ORDER_H_

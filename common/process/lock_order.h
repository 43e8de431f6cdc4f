// Abseil's detector of locks that are taken in different orders.
#ifndef HPC_COMMON_PROCESS_LOCK_ORDER_H_
#define HPC_COMMON_PROCESS_LOCK_ORDER_H_

namespace hpc {

// Turns it off for the whole process. Debian's Abseil is built with it: at every lock of gRPC's it
// takes one of the whole process, and what it takes for a cycle ends the process.
void TrustLockOrder();

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_LOCK_ORDER_H_

// TLS without session tickets, which gRPC 1.51 has no option for.
#ifndef HPC_COORDINATOR_RPC_NO_TICKETS_H_
#define HPC_COORDINATOR_RPC_NO_TICKETS_H_

#include "absl/status/status.h"

namespace hpc::coordinator {

// The servers of this process that are made from now on send none: no member keeps one, and to make
// two for each connection takes a tenth of all that its handshake takes. What else the machine's
// OpenSSL configuration says of TLS stays. An error changes nothing.
absl::Status SendNoTickets();

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_NO_TICKETS_H_

// Marks submissions, so that one that is sent again is recognised.
#ifndef HPC_CLIENT_REQUEST_ID_H_
#define HPC_CLIENT_REQUEST_ID_H_

#include <string>

namespace hpc::client {

// Returns 32 hexadecimal digits, of which the last 18 are random. They begin with the time, so that
// the coordinator's index of them grows at its end, not all over a long history.
std::string NewRequestId();

}  // namespace hpc::client

#endif  // HPC_CLIENT_REQUEST_ID_H_

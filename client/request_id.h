// Marks of submissions, so that one that is sent again is known again.
#ifndef HPC_CLIENT_REQUEST_ID_H_
#define HPC_CLIENT_REQUEST_ID_H_

#include <string>

namespace hpc::client {

// 32 random hexadecimal digits.
std::string NewRequestId();

}  // namespace hpc::client

#endif  // HPC_CLIENT_REQUEST_ID_H_

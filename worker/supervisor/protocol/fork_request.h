// What a worker asks of the process that makes its supervisors (fork_server.h), and the answer.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

// One message of the socket (passed_files.h). Two descriptors come with it: the supervisor's end of
// its socket to the worker, and the bound socket at which it is to listen.
struct ForkRequest {
  std::string account;                           // ToText of AccountIds; "": the server's
  std::string cgroup;                            // the one to be born in; "": the server's
  uint64_t open_files = 0, most_open_files = 0;  // soft and hard limit
};
// Enough for a path, and for more groups than an account has.
inline constexpr size_t kMostForkRequestBytes = 64 << 10;

std::string Encode(const ForkRequest& request);
// nullopt if the bytes are not what Encode makes.
std::optional<ForkRequest> DecodeForkRequest(const std::string& bytes);

// The answer, as it is in memory: both ends are on one machine.
struct ForkAnswer {
  int64_t pid = 0;    // 0: none was made
  int32_t error = 0;  // errno, if none was made
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_

// What a worker asks of the process that makes its supervisors (fork_server.h), and the answer.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

// One message of the socket (passed_files.h). With it come the supervisor's end of its socket to
// the worker, and the bound one that it is to listen at.
struct ForkRequest {
  std::string account;                           // ToText of AccountIds; "": that of the server
  std::string cgroup;                            // to be born in; "": the server's
  uint64_t open_files = 0, most_open_files = 0;  // soft and hard limit
};
// A path, and more groups than an account has.
inline constexpr size_t kMostForkRequestBytes = 64 << 10;

std::string Encode(const ForkRequest& request);
// nullopt if the bytes are not what Encode makes.
std::optional<ForkRequest> DecodeForkRequest(const std::string& bytes);

// The answer, as it lies in memory: both ends are of one machine.
struct ForkAnswer {
  int64_t pid = 0;    // 0: none was made
  int32_t error = 0;  // errno, then
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_FORK_REQUEST_H_

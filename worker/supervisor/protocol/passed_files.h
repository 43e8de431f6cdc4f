// Messages of a Unix socket that carry open files.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_PASSED_FILES_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_PASSED_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace hpc::worker {

inline constexpr size_t kMostPassedFiles = 4;

struct PassedFiles {
  std::string bytes;
  std::vector<UniqueFd> files;  // close-on-exec
};

// Sends one message of a SOCK_SEQPACKET with at most kMostPassedFiles. Returns errno, or 0.
int SendFiles(int socket, const std::string& bytes, const std::vector<int>& files);

// Receives the next message, of at most `most_bytes`. nullopt: the other end is closed, or errno
// says what is wrong.
std::optional<PassedFiles> ReceiveFiles(int socket, size_t most_bytes);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_PASSED_FILES_H_

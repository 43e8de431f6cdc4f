// Files of /proc, /sys and the attempt dir by plain system calls, for a program without iostreams.
#ifndef HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_
#define HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpc::worker {

// `name` is taken from the folder `dir_fd` (AT_FDCWD: the current one) unless it is absolute.
// nullopt: errno says why.
std::optional<std::string> ReadSmallFile(int dir_fd, const std::string& name);

// The rest of an open file.
std::optional<std::string> ReadAll(int fd);

// One write to a file that exists already, as the kernel's control files want it.
bool WriteControlFile(int dir_fd, const std::string& name, const std::string& content);

// The decimal numbers of a text, whatever stands between them; INT64_MAX for what is larger.
std::vector<int64_t> Numbers(const std::string& text);

// The kernel's random id of this boot.
std::string BootId();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_

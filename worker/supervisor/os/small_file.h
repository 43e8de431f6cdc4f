// Reads and writes files of /proc, /sys and the attempt dir with plain system calls, for a program
// without iostreams.
#ifndef HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_
#define HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpc::worker {

// `name` is looked up in the folder `dir_fd` (AT_FDCWD: the current one) unless it is absolute.
// nullopt: errno says why.
std::optional<std::string> ReadSmallFile(int dir_fd, const std::string& name);

// The rest of an open file.
std::optional<std::string> ReadAll(int fd);

// Writes to a file that exists already, in a single write, as the kernel's control files want it.
bool WriteControlFile(int dir_fd, const std::string& name, const std::string& content);

// The decimal numbers in a text, whatever is between them. A number that is too large gives
// INT64_MAX.
std::vector<int64_t> Numbers(const std::string& text);

// The kernel's random id of this boot.
std::string BootId();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_SMALL_FILE_H_

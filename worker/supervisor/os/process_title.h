// The arguments that lists of processes show for a process.
#ifndef HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_
#define HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_

#include <string>
#include <vector>

namespace hpc::worker {

// The last argument of a supervisor that has no attempt. If it has one, the argument is the
// attempt's dir.
inline constexpr char kIdleTitle[] = "--idle";

class ProcessTitle {
 public:
  // Takes over the memory of main's arguments, which are gone after the first Set.
  ProcessTitle(int argc, char** argv);

  // Shows as many of the arguments as fit into the room of those that the program was started with.
  void Set(const std::vector<std::string>& arguments);

 private:
  char* const begin_;
  char* const end_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_

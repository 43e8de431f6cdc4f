// What lists of processes show as a process's arguments.
#ifndef HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_
#define HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_

#include <string>
#include <vector>

namespace hpc::worker {

// The last argument of a supervisor that has no attempt; of one that has, it is the attempt's dir.
inline constexpr char kIdleTitle[] = "--idle";

class ProcessTitle {
 public:
  // Takes over the memory of main's arguments: they are gone with the first Set.
  ProcessTitle(int argc, char** argv);

  // As many of them as there is room for: that of the arguments which the program was given.
  void Set(const std::vector<std::string>& arguments);

 private:
  char* const begin_;
  char* const end_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PROCESS_TITLE_H_

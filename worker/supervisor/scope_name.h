// The name of an attempt's scope, which the worker asks for and the supervisor waits for.
#ifndef HPC_WORKER_SUPERVISOR_SCOPE_NAME_H_
#define HPC_WORKER_SUPERVISOR_SCOPE_NAME_H_

#include <cstdint>
#include <string>

namespace hpc::worker {

// "hpc-12.2-4711.scope". With the supervisor's pid, because several workers may share a machine.
inline std::string ScopeUnitName(const std::string& attempt, int64_t supervisor_pid) {
  return "hpc-" + attempt + "-" + std::to_string(supervisor_pid) + ".scope";
}

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SCOPE_NAME_H_

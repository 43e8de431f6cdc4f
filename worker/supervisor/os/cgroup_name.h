// The names of an attempt's cgroups, by which they are found even if every file of it is lost.
#ifndef HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_
#define HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_

#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

// "hpc-12.2-1a2b3c4d-4711". The number in the middle stands for the attempt dir, because several
// workers may share a machine; `maker` is the supervisor, or the worker where that holds it.
std::string AttemptCgroupName(const std::string& attempt, const std::string& dir,
                              const std::string& maker);

// Of the scope, which the worker asks for and the supervisor waits for: with ".scope".
std::string ScopeUnitName(const std::string& attempt, const std::string& dir,
                          int64_t supervisor_pid);

// The attempt of such a name, "12.2", if it is one.
std::optional<std::string> AttemptOfCgroup(const std::string& name);
// Whether it is a name of the attempt that has this dir.
bool IsCgroupOf(const std::string& name, const std::string& attempt, const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_

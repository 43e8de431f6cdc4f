// The names of an attempt's cgroups. By them the cgroups are found even if every file of the
// attempt is lost.
#ifndef HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_
#define HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_

#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

// In the cgroup that is held for a supervisor, the folder of its ranks, and what is added to that
// name, before a number, for the folder of its resident.
inline constexpr char kRanksCgroup[] = "ranks";
inline constexpr char kKeptCgroup[] = "-kept";

// "hpc-12.2-1a2b3c4d-4711". The number in the middle stands for the attempt dir, because several
// workers may share a machine. `maker` is the supervisor, or the worker if that holds the cgroup.
std::string AttemptCgroupName(const std::string& attempt, const std::string& dir,
                              const std::string& maker);

// The name of the scope, which the worker asks for and the supervisor waits for. Ends with
// ".scope".
std::string ScopeUnitName(const std::string& attempt, const std::string& dir,
                          int64_t supervisor_pid);

// The attempt in such a name, "12.2"; nullopt if it is not such a name.
std::optional<std::string> AttemptOfCgroup(const std::string& name);
// Whether the name is one of the attempt that has this dir.
bool IsCgroupOf(const std::string& name, const std::string& attempt, const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_CGROUP_NAME_H_

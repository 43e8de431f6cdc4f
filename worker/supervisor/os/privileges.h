// What a supervisor may do, and as which account. It has fewer rights than whoever started it.
#ifndef HPC_WORKER_SUPERVISOR_OS_PRIVILEGES_H_
#define HPC_WORKER_SUPERVISOR_OS_PRIVILEGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpc::worker {

// An account as the kernel knows it.
struct AccountIds {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary groups
  // Its ranks may gain privileges from what they execute, such as sudo, newuidmap or a setuid
  // nvidia-modprobe.
  bool setuid_programs = false;

  bool operator==(const AccountIds&) const = default;
};

// For example "1000:1000:27,44", for a command line; "+1000:1000:27,44" with setuid programs.
std::string ToText(const AccountIds& ids);
// nullopt: it is not such a text, or it names root, which nobody may become.
std::optional<AccountIds> ParseAccountIds(const std::string& text);

// No account has this number. A supervisor for another account has it as its real uid, and the
// account's number as its effective uid. The account's processes can then neither signal nor trace
// it.
inline constexpr uint32_t kSupervisorUid = 65533;

// From now on the caller works as that account, while its real uid becomes kSupervisorUid. It opens
// files, signals and starts processes with the account's rights, and those processes cannot end or
// stop it. It cannot change back. For root, in a process with one thread. False: errno says why,
// and the process must end, since it may be neither the old account nor the new one.
bool BecomeSupervisorFor(const AccountIds& ids);
// For a child of such a process. The child becomes that account for good, also for what it
// executes. Allocates no memory.
bool BecomeWhomWeWorkAs();

// While an object lives, such a process has the rights of kSupervisorUid on files instead of the
// account's. It needs them for the cgroups that hold its ranks, which the ranks may not touch. For
// any other process this changes nothing.
class OnOwnBehalf {
 public:
  OnOwnBehalf();
  ~OnOwnBehalf();
  OnOwnBehalf(const OnOwnBehalf&) = delete;
  OnOwnBehalf& operator=(const OnOwnBehalf&) = delete;

 private:
  const bool switched_;
};

// The calling process and its descendants gain no privileges from what they execute (setuid
// programs, file capabilities), unless `setuid_programs` lets them. They lose all privileges except
// those of being root, and leave no core files unless they ask for them. False: errno says why.
bool GiveUpPrivileges(bool setuid_programs);

// Other processes of the same account may not trace the calling process, or read its memory or
// environment. An execve ends this.
void ForbidTracing();
// Undoes that, for a child that is about to execve.
void AllowTracing();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PRIVILEGES_H_

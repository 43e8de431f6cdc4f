// What a supervisor may do, and as whom: less than whoever started it.
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
  std::vector<uint32_t> groups;  // supplementary ones

  bool operator==(const AccountIds&) const = default;
};

// "1000:1000:27,44", for a command line.
std::string ToText(const AccountIds& ids);
// nullopt: not such a text, or root's, which nobody is to become.
std::optional<AccountIds> ParseAccountIds(const std::string& text);

// No account has this number: a process that is really of it and only works as another takes no
// signal from that other's processes, nor can be traced by them.
inline constexpr uint32_t kSupervisorUid = 65533;

// Works as that account from now on and stays really kSupervisorUid: opens files, signals and
// starts processes with the account's rights, and these cannot end or stop it. No way leads back to
// who it was. For root in a process of one thread. False: errno says why; whoever goes on is
// neither nor.
bool BecomeSupervisorFor(const AccountIds& ids);
// For a child of such a process, which becomes that account for good, also for what it executes.
// Takes no memory.
bool BecomeWhomWeWorkAs();

// While it lives, such a process has kSupervisorUid's rights on files, and not the account's: on
// the cgroups that hold its ranks, which these may not touch. Of any other process it changes
// nothing.
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
// programs, file capabilities), have none left but what being root gives, and leave no core files
// unless they ask for them. False: errno says why.
bool GiveUpPrivileges();

// Others of the same account may not trace the calling process, nor read its memory or environment.
// Does not outlive an execve.
void ForbidTracing();
// Undoes that, for a child that is about to execve.
void AllowTracing();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_PRIVILEGES_H_

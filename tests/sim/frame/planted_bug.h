// Mistakes that the simulation must find. Each is made in the simulation's own seams, where a real
// shell could make it, too. The cores know nothing about them.
#ifndef HPC_TESTS_SIM_FRAME_PLANTED_BUG_H_
#define HPC_TESTS_SIM_FRAME_PLANTED_BUG_H_

#include <optional>
#include <string>
#include <vector>

namespace hpc::sim {

enum class Bug {
  kNone = 0,
  kDropChange,
  kSendBeforeCommit,
  kAnswerBeforeCommit,
  kIgnoreCommitError,
  kLoseStop,
  kIgnoreStop,
  kSlowYield,
  kNoFencing,
  kNoSupervisorLease,
  kReturnEarly,
  kStaleAnswer,
  kReorder,
  kRestoreWithoutPlacements,
  kRestoreEventIds,
  kReuseRunIds,
  kSwallowCancel,
  kSwallowHold,
  kForgetOwner,
  kNewBootId,
  kForgetAdopted,
  kWrongWorldSize,
  kWrongRank,
  kExitBeforeStop,
  kNoTimers,
  kWholeUnheard,
  kForgetDoubt,
  kForgetHalt,
  kNoNodeClock,
  kLateHello,
  kPowerEndedEarly,
  kRecallUnanswered,
  kSuccessAtOnce,
  kImpatient,
  kShortGrace,
};

struct BugInfo {
  Bug bug;
  const char* name;
  const char* what;
};

const std::vector<BugInfo>& PlantedBugs();
std::optional<Bug> BugNamed(const std::string& name);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_PLANTED_BUG_H_

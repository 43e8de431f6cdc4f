#include "tests/sim/frame/planted_bug.h"

namespace hpc::sim {

const std::vector<BugInfo>& PlantedBugs() {
  static const std::vector<BugInfo> bugs = {
      {Bug::kDropChange, "drop-change", "a commit leaves out one of its changes now and then"},
      {Bug::kSendBeforeCommit, "send-before-commit", "nodes are told before the commit"},
      {Bug::kAnswerBeforeCommit, "answer-before-commit", "clients are answered before the commit"},
      {Bug::kIgnoreCommitError, "ignore-commit-error", "a commit that failed counts as done"},
      {Bug::kLoseStop, "lose-stop", "now and then a stop is not sent over an open stream"},
      {Bug::kIgnoreStop, "ignore-stop", "a supervisor now and then ignores that it is to stop"},
      {Bug::kSlowYield, "slow-yield", "a supervisor takes its own grace instead of the one told"},
      {Bug::kNoFencing, "no-fencing", "neither worker nor supervisor ends ranks when cut off"},
      {Bug::kNoSupervisorLease, "no-supervisor-lease", "supervisors live on without a worker"},
      {Bug::kReturnEarly, "return-early",
       "a worker says returned when told to stop, not when done"},
      {Bug::kStaleAnswer, "stale-answer", "a return counts for whatever attempt the run has now"},
      {Bug::kReorder, "reorder", "messages of one stream overtake each other"},
      {Bug::kRestoreWithoutPlacements, "restore-without-placements",
       "a restart of the coordinator forgets which devices are taken"},
      {Bug::kRestoreEventIds, "restore-event-ids", "events are numbered from 1 after a restart"},
      {Bug::kReuseRunIds, "reuse-run-ids", "a restart counts runs from the newest live one"},
      {Bug::kSwallowCancel, "swallow-cancel", "a cancel is now and then answered and not done"},
      {Bug::kSwallowHold, "swallow-hold", "a hold is now and then answered and not done"},
      {Bug::kForgetOwner, "forget-owner", "the owner's wish does not survive a worker's restart"},
      {Bug::kNewBootId, "new-boot-id",
       "a new worker finds no attempts and claims that the PC has restarted"},
      {Bug::kForgetAdopted, "forget-adopted", "a new worker does not look for attempts"},
      {Bug::kWrongWorldSize, "wrong-world-size", "one node is told another world size"},
      {Bug::kWrongRank, "wrong-rank", "ranks of later nodes are numbered from 0"},
      {Bug::kExitBeforeStop, "exit-before-stop", "that a rank was told to end is not passed on"},
      {Bug::kNoTimers, "no-timers",
       "the coordinator acts on deadlines only when something is said"},
      {Bug::kWholeUnheard, "whole-unheard",
       "a witness says that all nodes vouch, whether or not it has heard them"},
      {Bug::kRecallUnanswered, "recall-unanswered",
       "a worker that recalls ranks says that they are gone when it has asked, not when it is "
       "answered"},
      {Bug::kForgetDoubt, "forget-doubt", "a worker promises not to vouch, and vouches on"},
      {Bug::kForgetHalt, "forget-halt", "a node does not say that it ended ranks by itself"},
      {Bug::kNoNodeClock, "no-node-clock",
       "reports are dated by when they are read, and what their nodes' clocks show is ignored"},
      {Bug::kLateHello, "late-hello",
       "a hello says when it was sent, and its ages go by when it was made, up to a second before"},
      {Bug::kSuccessAtOnce, "success-at-once",
       "a supervisor tells a success at once that may be the answer to the SIGTERM of its PC"},
      {Bug::kImpatient, "impatient",
       "a supervisor kills the other ranks as soon as one has ended after a stop"},
      {Bug::kShortGrace, "short-grace", "a worker gives ranks a second, whatever it was told"},
      {Bug::kPowerEndedEarly, "power-ended-early",
       "a power command counts as ended as soon as it has begun"},
  };
  return bugs;
}

std::optional<Bug> BugNamed(const std::string& name) {
  for (const BugInfo& info : PlantedBugs()) {
    if (name == info.name) return info.bug;
  }
  return std::nullopt;
}

}  // namespace hpc::sim

// The causes of one attempt's end, as they are heard, and the verdict that they make.
#ifndef HPC_COORDINATOR_CORE_STATE_CAUSES_H_
#define HPC_COORDINATOR_CORE_STATE_CAUSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/state/node_table.h"
#include "coordinator/core/values/cause.h"
#include "coordinator/core/values/deciding_cause.h"

namespace hpc::coordinator {

class Causes {
 public:
  bool empty() const { return heard_.empty(); }

  void Add(Cause cause) { heard_.push_back(std::move(cause)); }
  // The same, unless its node has told of it before.
  void AddOnce(Cause cause);
  // Adds a cause that came before all others.
  void AddFirst(Cause cause) { heard_.insert(heard_.begin(), std::move(cause)); }
  // Adds what a node says for itself. If the cause of its node so far was a guess, this replaces
  // the guess. What it has said before is not added again.
  void Learn(const Cause& cause);
  // The same for a cause that began earlier than its node may have said.
  void LearnSince(const Cause& cause);
  // A coordinator that is started again does not know what the clocks of the nodes showed. A node
  // has told again, at a time that is known, that a rank ended, or why it ended ranks by itself.
  void DateEnd(const std::string& node, int32_t rank, const std::optional<NodeWindow>& failed);
  void DateHalt(const Cause& halt);
  // A rank that was told to end had spoken of an exception before. It may have failed of that, and
  // the others may complain about it; or it had caught the exception long ago. So this decides
  // nothing, and stands for what complaints about a peer say.
  void LearnSpokenOf(const std::string& text) {
    if (spoken_of_.empty()) spoken_of_ = text;
  }
  // Removes the guess that the owner's wish ended the ranks on the node, which had ended without
  // it. A cause that is the only one stays.
  void Withdraw(const std::string& node);

  // Narrows the times at which the causes happened by what is known of the nodes' clocks by now.
  void Narrow(const NodeTable& nodes, MonoTime now);

  // All causes up to the last one that is not a failure of a rank.
  std::vector<Cause> UpToLastOther() const;

  // The cause that decides. There must be one.
  const Cause& Deciding() const { return coordinator::Deciding(heard_); }
  // Why the attempt ends, in words: the deciding cause, and what followed from it, or may have, if
  // that was heard first. For example: pc2 was taken back by its owner, and then rank 0 on pc1
  // failed.
  std::string Reason() const;
  bool MayBeConsequences(bool may_ask) const {
    return coordinator::MayBeConsequences(heard_, may_ask);
  }
  bool AllComplainOfPeers() const;
  // Whether a rank's end decides that may be the answer to a SIGTERM of its PC, and the node has
  // not been heard since it would have said that the PC goes down. It is connected, or expected
  // back after a restart of the coordinator.
  bool AwaitsWord(const NodeTable& nodes, Now now) const;
  // Whether a node that is connected has not yet said what its clock shows, which may change the
  // verdict.
  bool AwaitsClocks(const NodeTable& nodes) const;

 private:
  std::vector<Cause> heard_;  // in the order in which they were heard
  std::string spoken_of_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_CAUSES_H_

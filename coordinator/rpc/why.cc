#include "coordinator/rpc/why.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// What a run in this state does, without its reason: "running on pc1".
std::string Doing(const RunRow& row, const RunWait& wait) {
  const std::string nodes = row.nodes.empty() ? "" : absl::StrCat(" on ", JoinWords(row.nodes));
  switch (row.record.state) {
    case RunState::kQueued:
      return wait.queue_position > 0
                 ? absl::StrCat("queued, number ", wait.queue_position, " in the queue")
                 : "not in the queue yet";
    case RunState::kStarting:
      return absl::StrCat("being started", nodes);
    case RunState::kRunning:
      return absl::StrCat("running", nodes);
    case RunState::kStopping:
      return absl::StrCat("being stopped", nodes);
    case RunState::kSucceeded:
      return "succeeded";
    case RunState::kFailed:
      return absl::StrCat("failed with exit code ", row.record.exit_code);
    case RunState::kCancelled:
      return "cancelled";
    case RunState::kTimedOut:
      return "reached its time limit";
  }
  return "";
}

std::string Reason(const RunRow& row, const RunWait& wait, const std::string& rendezvous) {
  if (IsTerminal(row.record.state) || row.record.state == RunState::kStopping) {
    return row.record.reason;
  }
  if (!wait.text.empty()) return wait.text;
  // That it runs, and where, has been said.
  if (row.record.state == RunState::kRunning) return rendezvous;
  return row.record.reason;
}

// As a sentence about a run or a node words it.
std::string Sentence(const EventRecord& event) {
  if (event.rank < 0) return event.text;
  return absl::StrCat("rank ", event.rank, " on ", event.node, " ", event.text);
}

}  // namespace

std::string ExplainRun(const RunRow& row, const RunWait& wait, const std::string& rendezvous) {
  std::string out = Doing(row, wait);
  const std::string reason = Reason(row, wait, rendezvous);
  if (!reason.empty()) absl::StrAppend(&out, ": ", reason);
  return out;
}

std::vector<EventRecord> TellOnce(const std::string& now, const std::vector<EventRecord>& events) {
  std::vector<EventRecord> told;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    const std::string sentence = Sentence(*event);
    const auto said_by = [&](const EventRecord& later) {
      return later.run == event->run && later.attempt == event->attempt &&
             absl::StrContains(Sentence(later), sentence);
    };
    // What has no attempt happens to a node again and again.
    const bool newest = event->attempt == 0 ? event == events.rbegin()
                                            : event->attempt == events.back().attempt &&
                                                  event->run == events.back().run;
    if (newest && absl::StrContains(now, sentence)) continue;
    if (event->attempt != 0 && std::any_of(told.begin(), told.end(), said_by)) continue;
    told.push_back(*event);
  }
  std::reverse(told.begin(), told.end());
  return told;
}

std::string ExplainNode(const Cluster::NodeView& node) {
  std::string out = node.state;
  if (!node.reason.empty()) absl::StrAppend(&out, ": ", node.reason);
  std::vector<std::string> attempts;
  for (const AttemptRef& ref : node.attempts) attempts.push_back(ref.ToString());
  if (!attempts.empty()) absl::StrAppend(&out, "; its devices are used by ", JoinWords(attempts));
  return out;
}

}  // namespace hpc::coordinator

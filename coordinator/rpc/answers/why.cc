#include "coordinator/rpc/answers/why.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/values/event_kinds.h"

namespace hpc::coordinator {
namespace {

// What a run in this state does, without its reason: "running on pc1".
std::string Doing(const RunRow& row, const RunWait& wait) {
  const std::string nodes =
      row.extras.nodes.empty() ? "" : absl::StrCat(" on ", JoinWords(row.extras.nodes));
  switch (row.record.state) {
    case RunState::kQueued:
      if (!row.record.on_hold.empty()) return row.record.on_hold;
      if (wait.queue_position == 0) return "not in the queue yet";
      // For a run behind others, the reason already says its place in the queue.
      return absl::StrContains(wait.text, " in the queue")
                 ? "queued"
                 : absl::StrCat("queued, number ", wait.queue_position, " in the queue");
    case RunState::kStarting:
      return absl::StrCat("being started", nodes);
    case RunState::kRunning:
      return absl::StrCat("running", nodes);
    case RunState::kStopping:
      return "being stopped";
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
  if (IsTerminal(row.record.state)) return row.record.reason;
  if (!wait.text.empty()) return wait.text;
  // The caller has already said that the run is running, and where.
  if (row.record.state == RunState::kRunning) return rendezvous;
  return row.record.reason;
}

// The event as a sentence about a run or a node.
std::string Sentence(const EventRecord& event) {
  if (event.rank < 0) return event.text;
  return absl::StrCat("rank ", event.rank, " on ", event.node, " ", event.text);
}

}  // namespace

std::string ExplainRun(const RunRow& row, const RunWait& wait, const std::string& rendezvous) {
  const std::string doing = Doing(row, wait);
  const std::string reason = Reason(row, wait, rendezvous);
  if (reason.empty()) return doing;
  // Some reasons repeat the state: "cancelled by anna", "reached its time limit of 2 h".
  return absl::StartsWith(reason, doing) ? reason : absl::StrCat(doing, ": ", reason);
}

std::vector<EventRecord> TellOnce(const std::vector<EventRecord>& events) {
  std::vector<EventRecord> told;
  std::set<std::tuple<RunId, int32_t, std::string>> said;
  for (const EventRecord& event : events) {
    // Events without an attempt happen to a node again and again, so they are never repetitions.
    if (event.attempt != 0 && !said.emplace(event.run, event.attempt, Sentence(event)).second) {
      continue;
    }
    told.push_back(event);
  }
  return told;
}

std::vector<EventRecord> Shorten(std::vector<EventRecord> events, size_t most) {
  std::set<AttemptRef> failed;
  std::vector<EventRecord> kept;
  size_t excess = events.size() - std::min(events.size(), most);
  for (EventRecord& event : events) {
    const bool first_failure =
        event.kind == event::kRankFailed && failed.insert({event.run, event.attempt}).second;
    const bool rank_ended = event.kind == event::kRankFailed || event.kind == event::kRankExited;
    if (excess > 0 && rank_ended && !first_failure) {
      --excess;
    } else {
      kept.push_back(std::move(event));
    }
  }
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(excess));
  return kept;
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

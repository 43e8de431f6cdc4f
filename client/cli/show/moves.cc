#include "client/cli/show/moves.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/forms/listing.h"
#include "client/run_state.h"
#include "common/text.h"

namespace hpc::client {
namespace {

// Most attempts have ended by then, and the end has been told.
constexpr absl::Duration kLongStop = absl::Seconds(2);

}  // namespace

std::string Moves::Tell(MonoTime now, const v1::RunUpdate& update) {
  if (!over_before_) {
    over_before_ = IsOver(update.run().state());
    followed_since_ = now;
  }
  if (*over_before_) return "";
  if (now - absl::Microseconds(update.event_age_us()) < followed_since_) {
    const std::string wait = OneLine(update.run().reason());
    const bool waits = waits_ && update.run().state() == v1::RUN_STATE_QUEUED;
    if (!waits || wait.empty() || !wait_.empty()) return "";
    wait_ = wait;
    return absl::StrCat("run ", update.run().id(), " waits: ", wait);
  }
  std::string told = TellOfEvent(update);
  return told.empty() ? TellOfStop(now, update) : told;
}

std::string Moves::TellOfEvent(const v1::RunUpdate& update) {
  const std::string run = absl::StrCat("run ", update.run().id());
  const std::string text = OneLine(update.event_text());
  if (update.event_kind() == "run.requeued") {
    ended_ = absl::StrCat(run, ": attempt ", update.event_attempt(), " ended: ", text);
    // A run that rests is not in the queue. Any other is in the queue or has left it again, and
    // more is said about it at once.
    const bool rests =
        update.run().state() == v1::RUN_STATE_QUEUED && update.run().queue_position() == 0;
    return rests ? std::exchange(ended_, "") : "";
  }
  if (update.event_kind() == "run.placed" && update.event_attempt() > 1) {
    const std::string before = ended_.empty() ? run + ": " : std::exchange(ended_, "") + "; ";
    return absl::StrCat(before, "attempt ", update.event_attempt(), " starts on ", text);
  }
  // An event may arrive late, when the run no longer waits for anything.
  if (update.event_kind() == "run.waiting" && update.run().state() == v1::RUN_STATE_QUEUED) {
    if (!ended_.empty()) return absl::StrCat(std::exchange(ended_, ""), "; ", text);
    if (waits_ && std::exchange(wait_, text) != text) return absl::StrCat(run, " waits: ", text);
    return "";
  }
  for (const char* kind : {"run.held", "run.released", "run.changed", "run.checkpoints"}) {
    if (update.event_kind() == kind) return absl::StrCat(run, ": ", text);
  }
  if (update.event_kind() == "rank.output") return absl::StrCat(run, ": ", text);
  if (update.event_kind() == "run.rendezvous-late" && waits_) return absl::StrCat(run, ": ", text);
  return "";
}

std::string Moves::TellOfStop(MonoTime now, const v1::RunUpdate& update) {
  if (update.run().state() != v1::RUN_STATE_STOPPING) {
    stopping_since_ = MonoTime::Infinite();
    stop_told_ = false;
    return "";
  }
  stopping_since_ = std::min(stopping_since_, now);
  if (!waits_ || stop_told_ || now - stopping_since_ < kLongStop) return "";
  stop_told_ = true;
  return absl::StrCat("run ", update.run().id(), " is being stopped: ", OneLine(update.progress()));
}

}  // namespace hpc::client

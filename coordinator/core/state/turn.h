// One call into the core: its time, and the effects that it collects.
#ifndef HPC_COORDINATOR_CORE_STATE_TURN_H_
#define HPC_COORDINATOR_CORE_STATE_TURN_H_

#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/core/values/records.h"
#include "protocol/coordinator_message.h"

namespace hpc::coordinator {

// What an event is about.
struct Subject {
  RunId run = 0;
  int32_t attempt = 0;
  std::string node;
  int32_t rank = -1;
};

inline Subject About(RunId run) { return {run, 0, "", -1}; }
inline Subject About(AttemptRef ref) { return {ref.run, ref.number, "", -1}; }
inline Subject About(AttemptRef ref, const std::string& node) {
  return {ref.run, ref.number, node, -1};
}
inline Subject About(const std::string& node) { return {0, 0, node, -1}; }

// Numbers events.
class EventCounter {
 public:
  explicit EventCounter(EventId last) : last_(last) {}
  EventId Next() { return ++last_; }

 private:
  EventId last_;
};

class Turn {
 public:
  Turn(Now now, Effects* effects, EventCounter* events)
      : now_(now), effects_(effects), events_(events) {}

  Now now() const { return now_; }
  MonoTime mono() const { return now_.mono; }
  absl::Time wall() const { return now_.wall; }
  // What the wall clock showed then, as seen from now.
  absl::Time WallOf(MonoTime then) const { return now_.wall - (now_.mono - then); }

  // Makes the record durable in its present state.
  template <typename Record>
  void Save(const Record& record) {
    effects_->changes.emplace_back(record);
  }
  void Tell(const std::string& node, protocol::CoordinatorMessage command) {
    effects_->messages.push_back({node, std::move(command)});
  }
  // Takes back everything that this round was going to tell the node.
  void Untell(const std::string& node) {
    std::erase_if(effects_->messages, [&](const NodeMessage& m) { return m.node == node; });
  }
  void Wake(WakeNode wake) { effects_->wakes.push_back(std::move(wake)); }

  // Writes an event. `kind` is one of those in event_kinds.h.
  void Event(const char* kind, const Subject& about, std::string text,
             Severity severity = Severity::kInfo) {
    effects_->changes.emplace_back(EventRecord{events_->Next(), now_.wall, severity, kind,
                                               about.run, about.attempt, about.node, about.rank,
                                               std::move(text)});
  }

 private:
  Now now_;
  Effects* effects_;
  EventCounter* events_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_TURN_H_

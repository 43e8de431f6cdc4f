// Whether the coordinator itself has done nothing for a while: because nothing was to be done, or
// because its process stood still, as it does when somebody stops it or its PC is too busy. What
// nodes said during a standstill still has to be read then.
#ifndef HPC_COORDINATOR_CORE_STATE_PAUSES_H_
#define HPC_COORDINATOR_CORE_STATE_PAUSES_H_

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

class Pauses {
 public:
  // Without anything to do for so long, the coordinator may have stood still. Connected nodes say
  // something more often than that, unless there are only one or two.
  static constexpr absl::Duration kPause = absl::Milliseconds(1500);

  // To be called whenever the coordinator does something.
  void AtWork(MonoTime now) {
    if (now - at_work_ >= kPause) resumed_ = now;
    if (now - at_work_ >= kReading) {
      before_burst_ = at_work_;
      burst_began_ = now;
    }
    at_work_ = now;
  }
  // Whether a pause ended less than `span` ago.
  bool EndedWithin(absl::Duration span, MonoTime now) const { return now < resumed_ + span; }
  // Whether the coordinator was at work at some time after `then`. Reading at `now` what
  // has waited does not prove it.
  bool WorkedAfter(MonoTime then, MonoTime now) const {
    const bool new_burst = now - at_work_ >= kReading;
    const MonoTime began = new_burst ? now : burst_began_;
    return began + kReading <= now || (new_burst ? at_work_ : before_burst_) >= then;
  }

 private:
  // After a pause, what has waited is read within this time.
  static constexpr absl::Duration kReading = absl::Milliseconds(500);

  MonoTime at_work_{}, resumed_{-absl::InfiniteDuration()};
  // The coordinator has been at work since then without a longer gap than kReading, and when it was
  // at work for the last time before that.
  MonoTime burst_began_{}, before_burst_{-absl::InfiniteDuration()};
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_PAUSES_H_

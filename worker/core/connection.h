// When to connect, when to speak, and how long the coordinator has not been heard from.
//
//   waiting -> connecting -> connected
//      ^___________|_____________|         closed: back-off, then again
#ifndef HPC_WORKER_CORE_CONNECTION_H_
#define HPC_WORKER_CORE_CONNECTION_H_

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "worker/core/messages.h"

namespace hpc::worker {

class Connection {
 public:
  enum class State { kWaiting, kConnecting, kConnected };
  enum class Action { kNone, kOpen, kHeartbeat, kGiveUp };

  // A broken connection is noticed at most this long after it broke: unacknowledged heartbeats end
  // it (the link sets the transport's time-out accordingly). What was said within this time before
  // the end may not have arrived.
  static constexpr absl::Duration kDetection = absl::Seconds(12);
  static constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

  explicit Connection(MonoTime now) : next_try_(now), last_contact_(now) {}

  // What is due now. kOpen: open the link (it then counts as connecting). kHeartbeat: say one.
  // kGiveUp: no welcome came in time; close the link, then call OnClosed.
  Action Tick(MonoTime now);
  MonoTime NextDeadline() const;

  void OnWelcome(MonoTime now, const Welcome& welcome);

  // `jitter`: 0 to 1, the caller's randomness. A refusal that repeating cannot cure soon (name
  // taken, protocol version, not allowed) is retried slowly.
  void OnClosed(MonoTime now, const absl::Status& why, double jitter);

  // Drops what is there and connects again at once. The caller closes the link.
  void Restart(MonoTime now);

  // The connection has worked for as long as it takes to notice that it does not.
  bool Proven(MonoTime now) const { return connected() && now - kDetection >= steady_since_; }

  // The machine was suspended for `slept`, which the monotonic clock did not count.
  void OnSlept(absl::Duration slept) {
    last_contact_ = last_contact_ - slept;
    heard_ = heard_ - slept;
    opened_at_ = opened_at_ - slept;
  }

  State state() const { return state_; }
  bool connected() const { return state_ == State::kConnected; }
  // Why the last try or connection ended; "" while connected.
  const std::string& problem() const { return problem_; }
  const Welcome& welcome() const { return welcome_; }

  // Time since the coordinator may last have heard from us; zero while connected.
  absl::Duration SilentFor(MonoTime now) const;
  // What was said at `sent` the coordinator is known to have heard. The first such answer is
  // confirmed, so that the coordinator soon knows how far our clock and its own lie apart.
  void OnHeard(MonoTime now, MonoTime sent) {
    heard_ = std::max(heard_, sent);
    if (std::exchange(first_answer_, false)) Confirm(now);
  }
  // Says the next heartbeat at once, since somebody waits for its answer.
  void Confirm(MonoTime now) {
    if (connected()) next_heartbeat_ = std::min(next_heartbeat_, now);
  }
  // No heartbeat of this connection has been answered yet.
  bool awaits_first_answer() const { return first_answer_; }
  // The last such time; nothing before the first welcome.
  std::optional<MonoTime> heard() const {
    return welcomed_ ? std::make_optional(heard_) : std::nullopt;
  }
  // When SilentFor reaches what the coordinator allows; Infinite while connected.
  MonoTime SilenceLimit() const;

  // How long a supervisor may go without ExtendLease: less than stop_after_disconnect, since an
  // extension may be given while the connection is already broken unnoticed.
  absl::Duration SupervisorLease() const;

 private:
  // While this process stands still its connection may break unnoticed.
  void NoticeStandstill(MonoTime now);
  void OnLost(MonoTime now);
  // It worked until then, unless it was broken already and nobody had noticed.
  void CountContact(MonoTime until) { last_contact_ = std::max(last_contact_, until - kDetection); }

  State state_ = State::kWaiting;
  MonoTime next_try_;
  MonoTime give_up_at_ = MonoTime::Infinite();
  MonoTime next_heartbeat_ = MonoTime::Infinite();
  MonoTime last_contact_;
  MonoTime opened_at_{}, heard_{};
  bool first_answer_ = false;  // is still to come
  bool welcomed_ = false;
  MonoTime steady_since_{};  // when it stood still last
  Welcome welcome_;
  std::string problem_;
  // Short enough that all PCs are back within five seconds of a restart of the coordinator.
  Backoff quick_{absl::Milliseconds(100), absl::Seconds(3)};
  Backoff slow_{absl::Seconds(2), absl::Seconds(30)};
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_CONNECTION_H_

// When to connect, when to speak, and for how long the coordinator has not been heard.
//
//   waiting -> connecting -> connected
//      ^___________|_____________|         closed: back-off, then again
#ifndef HPC_WORKER_CORE_CONNECTION_H_
#define HPC_WORKER_CORE_CONNECTION_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "protocol/hello.h"

namespace hpc::worker {

class Connection {
 public:
  enum class State { kWaiting, kConnecting, kConnected };
  enum class Action { kNone, kOpen, kHeartbeat, kGiveUp };

  // A broken connection is noticed at most this long after it broke, because heartbeats that are
  // not acknowledged end it (the link sets the transport's time-out accordingly). Whatever was said
  // within this time before the end may not have arrived.
  static constexpr absl::Duration kDetection = absl::Seconds(12);
  static constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

  explicit Connection(MonoTime now) : next_try_(now), last_contact_(now) {}

  // Returns what is due now. kOpen: open the link, which then counts as connecting. kHeartbeat:
  // send a heartbeat. kGiveUp: no welcome came in time; close the link, then call OnClosed.
  Action Tick(MonoTime now);
  MonoTime NextDeadline() const;

  void OnWelcome(MonoTime now, const protocol::Welcome& welcome);

  // `jitter` is a random number from 0 to 1, which the caller provides. If repeating is unlikely to
  // help soon (the name is taken, the protocol version is wrong, it is not allowed), it is tried
  // again slowly.
  void OnClosed(MonoTime now, const absl::Status& why, double jitter);

  // Drops the present connection and connects again at once. The caller closes the link.
  void Restart(MonoTime now);

  // Whether the connection has worked for so long that a break would have been noticed.
  bool Proven(MonoTime now) const { return connected() && now - kDetection >= steady_since_; }

  // The machine was suspended for `slept`, which the monotonic clock did not count.
  void OnSlept(absl::Duration slept) {
    last_contact_ = last_contact_ - slept;
    heard_ = heard_ - slept;
    opened_at_ = opened_at_ - slept;
  }

  State state() const { return state_; }
  bool connected() const { return state_ == State::kConnected; }
  // Why the last attempt to connect or the last connection ended; "" while connected.
  const std::string& problem() const { return problem_; }
  const protocol::Welcome& welcome() const { return welcome_; }

  // The time since the coordinator may last have heard us; zero while connected.
  absl::Duration SilentFor(MonoTime now) const;
  // The coordinator is known to have heard what was said at `sent`. The first such answer on a
  // connection is confirmed at once, so that the coordinator soon knows how far our clock and its
  // own are apart.
  void OnHeard(MonoTime now, MonoTime sent) {
    heard_ = std::max(heard_, sent);
    if (std::exchange(first_answer_, false)) Confirm(now);
  }
  // Sends the next heartbeat at once, since somebody is waiting for its answer.
  void Confirm(MonoTime now) {
    if (connected()) next_heartbeat_ = std::min(next_heartbeat_, now);
  }
  // The heartbeat that was due last was the first one of this connection.
  bool first_heartbeat() const { return heartbeats_ == 1; }
  // All that was said until this time has been heard; nothing before the first welcome.
  std::optional<MonoTime> heard() const {
    return welcomed_ ? std::make_optional(heard_) : std::nullopt;
  }
  // When SilentFor reaches the time that the coordinator allows; Infinite while connected.
  MonoTime SilenceLimit() const;

  // How long a supervisor may go without ExtendLease. This is less than stop_after_disconnect,
  // since an extension may be given when the connection is already broken and nobody has noticed.
  absl::Duration SupervisorLease() const;

 private:
  // Takes into account that the connection may break unnoticed while this process stands still.
  void NoticeStandstill(MonoTime now);
  void OnLost(MonoTime now);
  // The connection worked until then, or it was already broken and nobody had noticed.
  void CountContact(MonoTime until) { last_contact_ = std::max(last_contact_, until - kDetection); }

  State state_ = State::kWaiting;
  MonoTime next_try_;
  MonoTime give_up_at_ = MonoTime::Infinite();
  MonoTime next_heartbeat_ = MonoTime::Infinite();
  MonoTime last_contact_;
  MonoTime opened_at_{}, heard_{};
  int64_t heartbeats_ = 0;     // of this connection
  bool first_answer_ = false;  // the first answer is still to come
  bool welcomed_ = false;
  MonoTime steady_since_{};  // when the process last stood still
  protocol::Welcome welcome_;
  std::string problem_;
  // Short enough for all PCs to be back within five seconds after the coordinator restarts.
  Backoff quick_{absl::Milliseconds(100), absl::Seconds(3)};
  Backoff slow_{absl::Seconds(2), absl::Seconds(30)};
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_CONNECTION_H_

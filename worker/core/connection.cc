#include "worker/core/connection.h"

#include <algorithm>

namespace hpc::worker {
namespace {

// If a heartbeat is later than this, the process stood still.
constexpr absl::Duration kStandstill = absl::Seconds(1);

bool RepeatingHelpsLittle(const absl::Status& why) {
  switch (why.code()) {
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

Connection::Action Connection::Tick(MonoTime now) {
  switch (state_) {
    case State::kWaiting:
      if (now < next_try_) return Action::kNone;
      state_ = State::kConnecting;
      give_up_at_ = now + kConnectTimeout;
      opened_at_ = now;
      return Action::kOpen;
    case State::kConnecting:
      return now < give_up_at_ ? Action::kNone : Action::kGiveUp;
    case State::kConnected:
      if (now < next_heartbeat_) return Action::kNone;
      NoticeStandstill(now);
      next_heartbeat_ = now + welcome_.heartbeat_interval;
      ++heartbeats_;
      return Action::kHeartbeat;
  }
  return Action::kNone;
}

MonoTime Connection::NextDeadline() const {
  switch (state_) {
    case State::kWaiting:
      return next_try_;
    case State::kConnecting:
      return give_up_at_;
    case State::kConnected:
      return next_heartbeat_;
  }
  return MonoTime::Infinite();
}

void Connection::OnWelcome(MonoTime now, const protocol::Welcome& welcome) {
  state_ = State::kConnected;
  welcome_ = welcome;
  problem_.clear();
  last_contact_ = now;
  heard_ = welcomed_ ? std::max(heard_, opened_at_) : opened_at_;
  welcomed_ = true;
  steady_since_ = now - kDetection;  // the coordinator has just answered
  first_answer_ = true;
  heartbeats_ = 0;
  next_heartbeat_ = now;
  quick_.Reset();
  slow_.Reset();
}

void Connection::NoticeStandstill(MonoTime now) {
  if (now < next_heartbeat_ + kStandstill) return;
  if (Proven(next_heartbeat_)) CountContact(next_heartbeat_);
  steady_since_ = now;
}

void Connection::OnLost(MonoTime now) {
  NoticeStandstill(now);
  if (Proven(now)) CountContact(now);
}

void Connection::OnClosed(MonoTime now, const absl::Status& why, double jitter) {
  if (connected()) OnLost(now);
  state_ = State::kWaiting;
  problem_ = std::string(why.message());
  Backoff& backoff = RepeatingHelpsLittle(why) ? slow_ : quick_;
  next_try_ = now + backoff.Next(jitter);
}

void Connection::Restart(MonoTime now) {
  if (connected()) OnLost(now);
  state_ = State::kWaiting;
  next_try_ = now;
}

absl::Duration Connection::SilentFor(MonoTime now) const {
  return connected() ? absl::ZeroDuration() : now - last_contact_;
}

MonoTime Connection::SilenceLimit() const {
  if (connected()) return MonoTime::Infinite();
  return last_contact_ + welcome_.stop_after_disconnect;
}

absl::Duration Connection::SupervisorLease() const {
  const absl::Duration all = welcome_.stop_after_disconnect;
  return std::max(all / 2, all - kDetection);
}

}  // namespace hpc::worker

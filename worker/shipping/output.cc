#include "worker/shipping/output.h"

#include <utility>

#include "common/process/log.h"

namespace hpc::worker {

Output::Output(EventLoop* loop, std::function<void(protocol::WorkerMessage)> send,
               std::function<void(AttemptRef)> on_droppable)
    : loop_(loop), logs_(send), metrics_(send), on_droppable_(std::move(on_droppable)) {}

Output::~Output() {
  loop_->Cancel(timer_);
  loop_->Cancel(line_timer_);
}

void Output::Add(AttemptRef ref, const std::string& ranks_dir, const std::string& record_dir,
                 const std::vector<int32_t>& ranks, bool known) {
  logs_.Add(ref, ranks_dir, ranks, known);
  metrics_.Add(ref, ranks_dir, record_dir, ranks, known);
  live_[ref] = true;
  PollSoon();
}

void Output::Remove(AttemptRef ref) {
  logs_.Remove(ref);
  metrics_.Remove(ref);
  live_.erase(ref);
  drops_.erase(ref);
}

void Output::OnOutput(AttemptRef ref, const OutputGrown& output) {
  logs_.OnOutput(ref, output.rank, output.is_stderr, output.bytes, output.cut_bytes, output.ended);
}

void Output::OnReturned(AttemptRef ref) {
  const auto it = live_.find(ref);
  if (it == live_.end()) return;
  it->second = false;
  logs_.OnReturned(ref);
  metrics_.OnReturned(ref);
  PumpMetrics(loop_->clock().Get().wall, ref);
}

void Output::DropWhenDone(AttemptRef ref) {
  drops_[ref] = {0, loop_->clock().Get().mono + kDropPatience};
  PollSoon();
}

void Output::OnConnected() {
  connected_ = true;
  logs_.OnConnected();
  metrics_.OnConnected();
}

void Output::OnDisconnected() { connected_ = false; }

void Output::OnAck(const protocol::LogAck& ack) { logs_.OnAck(ack); }

void Output::OnAck(const protocol::MetricAck& ack) { metrics_.OnAck(ack); }

void Output::PollSoon() {
  if (timer_ == 0) timer_ = loop_->At(loop_->clock().Get().mono, [this] { Poll(); });
}

// Also takes care of the attempts that wait to be dropped. Stops by itself when nothing is left to
// look at, so that an idle worker does not wake up.
void Output::Poll() {
  timer_ = 0;
  const Now now = loop_->clock().Get();
  PumpMetrics(now.wall, std::nullopt);
  DropDone();
  bool needed = !drops_.empty();
  for (const auto& [ref, live] : live_) needed = needed || live;
  if (needed) timer_ = loop_->At(now.mono + kMetricsInterval, [this] { Poll(); });
}

void Output::PumpMetrics(absl::Time now, std::optional<AttemptRef> only) {
  if (connected_) {
    metrics_.Pump(now, only);
  } else {
    metrics_.Look(now, only);
  }
}

void Output::Pump() {
  if (connected_) PumpLogs(loop_->clock().Get().mono);
  DropDone();
}

void Output::PumpLogs(MonoTime now) {
  logs_.Pump(now);
  loop_->Cancel(line_timer_);
  const MonoTime due = logs_.NextDeadline(now);
  // The timer does nothing itself: it begins a round, and the round sends the line.
  line_timer_ = due == MonoTime::Infinite() ? 0 : loop_->At(due, [] {});
}

void Output::DropDone() {
  const MonoTime now = loop_->clock().Get().mono;
  for (auto it = drops_.begin(); it != drops_.end();) {
    const AttemptRef ref = it->first;
    Drop& drop = it->second;
    const int64_t acknowledged = logs_.AcknowledgedBytes(ref) + metrics_.AcknowledgedBytes(ref);
    if (acknowledged > drop.acknowledged || !connected_) {
      drop = {acknowledged, now + kDropPatience};
    }
    const bool done = logs_.Done(ref) && metrics_.Done(ref);
    ++it;
    if (!done && now < drop.give_up) continue;
    if (!done) {
      LogWarning("the coordinator does not take the rest of an attempt's output; it is dropped",
                 {{"attempt", ref.ToString()}});
    }
    Remove(ref);
    on_droppable_(ref);
  }
}

}  // namespace hpc::worker

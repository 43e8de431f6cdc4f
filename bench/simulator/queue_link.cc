#include "bench/simulator/queue_link.h"

#include <utility>
#include <variant>

#include "common/clock.h"
#include "worker/link/convert.h"
#include "worker/loop/boot_time.h"

namespace hpc::simulator {

using worker::CoordinatorStream;

void QueueLink::Open(const protocol::Hello& hello) {
  const uint64_t number = ++current_;
  CoordinatorStream::Handlers handlers;
  handlers.on_shown = [](const std::string&) {};
  handlers.on_message = [this, number](const v1::CoordinatorMessage& message) {
    if (number == current_) OnMessage(message);
  };
  handlers.on_closed = [this, number](const absl::Status& why) {
    if (number == current_) OnClosed(why);
  };
  if (channel_ == nullptr) {
    channel_ = worker::MakeCoordinatorChannel(route_.next(), route_.security());
  }
  answered_ = false;
  stream_ = std::make_shared<CoordinatorStream>(
      CoordinatorStream::Way{route_.next(), route_.security(), channel_}, queue_,
      std::move(handlers));
  stream_->Start(worker::ToProto(hello));
}

void QueueLink::OnMessage(const v1::CoordinatorMessage& message) {
  std::optional<protocol::CoordinatorMessage> heard = worker::FromProto(message);
  if (!heard) return;
  if (auto* answer = std::get_if<protocol::Heard>(&*heard)) {
    const absl::Duration ago = absl::Nanoseconds(worker::BootTimeNs()) - answer->sent.since_zero;
    answer->sent = RealClock().Get().mono - ago;
  }
  if (std::holds_alternative<protocol::Welcome>(*heard)) {
    answered_ = true;
    route_.OnAnswered();
  }
  callbacks_.on_message(*heard);
}

// A channel that did not get through is given up, since it would try again at times of its own.
absl::Status QueueLink::NoteEnd(const absl::Status& why) {
  stream_.reset();
  if (!answered_ && !shared_) channel_.reset();
  return route_.OnClosed(why);
}

void QueueLink::OnClosed(const absl::Status& why) {
  callbacks_.on_closed(
      NoteEnd(why.ok() ? absl::UnavailableError("the coordinator ended the connection") : why));
}

void QueueLink::Put(v1::WorkerMessage message, bool bulk) {
  if (stream_ == nullptr) return;
  stream_->Send(std::move(message), bulk);
  stream_->Flush();
}

void QueueLink::Send(const protocol::WorkerMessage& message, int64_t said_ns) {
  const bool bulk = std::holds_alternative<protocol::LogData>(message) ||
                    std::holds_alternative<protocol::LogEnd>(message);
  v1::WorkerMessage out = worker::ToProto(message);
  if (!bulk) out.set_said_us(said_ns / 1000);
  Put(std::move(out), bulk);
}

void QueueLink::SendHeartbeat(const std::vector<worker::DeviceUsage>& usage,
                              const protocol::Heartbeat& beat, bool answer_may_wait) {
  const worker::BeatTimes times{.sent_us = worker::BootTimeNs() / 1000};
  Put(worker::HeartbeatToProto(usage, beat, times, answer_may_wait), false);
}

void QueueLink::SendInventory(const protocol::Inventory& inventory) {
  Put(worker::ToProto(inventory), false);
}

void QueueLink::Finish() {
  if (stream_ != nullptr) stream_->Finish();
}

void QueueLink::Close() {
  ++current_;
  if (stream_ == nullptr) return;
  stream_->Cancel();
  NoteEnd(absl::DeadlineExceededError("the coordinator does not answer")).IgnoreError();
}

}  // namespace hpc::simulator

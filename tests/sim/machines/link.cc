#include "tests/sim/machines/link.h"

#include <algorithm>
#include <utility>

namespace hpc::sim {
namespace {

// The same as worker/link/coordinator_link sets.
constexpr absl::Duration kTransportTimeout = absl::Seconds(10);
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

}  // namespace

// ------------------------------------------------------------------------------ from the worker

void Stream::Send(Up message) {
  if (!worker_open_) return;
  const uint64_t number = sent_++;
  up_free_ = std::max(up_free_, context_->now() + link_->Delay());
  context_->agenda.At(
      up_free_, [self = shared_from_this(), message = std::move(message), said = context_->now(),
                 number] { self->Arrive(message, said, number); });
  NoticeIfBroken();
}

void Stream::Arrive(Up message, MonoTime said, uint64_t number) {
  const std::shared_ptr<CoordinatorEnd> end = coordinator_.lock();
  if (up_broken_ || number >= lost_from_) return;
  if (end == nullptr) return TellWorkerClosed(absl::UnavailableError("connection refused"));
  end->OnMessage(shared_from_this(), message, said);
}

void Stream::CloseByWorker() {
  if (!std::exchange(worker_open_, false)) return;
  up_free_ = std::max(up_free_, context_->now() + link_->Delay());
  context_->agenda.At(up_free_, [self = shared_from_this()] {
    if (!self->up_broken_) self->EndOfInput();
  });
}

void Stream::WorkerDied() {
  if (context_->random.Chance(0.5)) {
    const uint64_t tail = static_cast<uint64_t>(context_->random.Below(4));
    lost_from_ = sent_ - std::min(sent_, tail);
  }
  CloseByWorker();
}

void Stream::EndOfInput() {
  if (!coordinator_open_) return;
  if (const auto end = coordinator_.lock()) end->OnEndOfInput(shared_from_this());
}

// If the stream is broken, nothing that is sent is acknowledged, which is noticed after a time.
void Stream::NoticeIfBroken() {
  if (!broken() || std::exchange(noticing_, true)) return;
  const bool connecting = sent_ <= 1;
  context_->agenda.After(connecting ? kConnectTimeout : kTransportTimeout,
                         [self = shared_from_this()] {
                           if (!std::exchange(self->worker_open_, false)) return;
                           if (const auto worker = self->worker_.lock()) {
                             worker->OnClosed(self.get(), absl::UnavailableError("timed out"));
                           }
                         });
}

// ------------------------------------------------------------------------- from the coordinator

void Stream::Send(protocol::CoordinatorMessage message) {
  if (!coordinator_open_) return;
  const MonoTime arrival = context_->now() + link_->Delay();
  down_free_ = std::max(context_->Bugged(Bug::kReorder) ? arrival : down_free_, arrival);
  context_->agenda.At(down_free_, [self = shared_from_this(), message = std::move(message)] {
    if (self->down_broken_ || !self->worker_open_) return;
    if (const auto worker = self->worker_.lock()) worker->OnMessage(self.get(), message);
  });
}

void Stream::CloseByCoordinator(const absl::Status& why) {
  if (!std::exchange(coordinator_open_, false)) return;
  TellWorkerClosed(why);
}

void Stream::TellWorkerClosed(const absl::Status& why) {
  down_free_ = std::max(down_free_, context_->now() + link_->Delay());
  context_->agenda.At(down_free_, [self = shared_from_this(), why] {
    if (self->down_broken_ || !std::exchange(self->worker_open_, false)) return;
    if (const auto worker = self->worker_.lock()) worker->OnClosed(self.get(), why);
  });
}

// ------------------------------------------------------------------------------ from the network

void Stream::Break(bool up, bool down) {
  up_broken_ |= up;
  down_broken_ |= down;
  // The connection is half open now: the coordinator hears of the end late, or never.
  if (context_->random.Chance(0.5)) return;
  const absl::Duration late = context_->random.Between(absl::Seconds(5), absl::Seconds(60));
  context_->agenda.After(late, [self = shared_from_this()] { self->EndOfInput(); });
}

void Stream::Reset() {
  if (broken()) return;
  resetting_ = true;
  WorkerDied();
  worker_open_ = true;  // until the worker hears of it
  TellWorkerClosed(absl::UnavailableError("connection reset"));
}

// ------------------------------------------------------------------------------------- the link

absl::Duration Link::Delay() {
  Random& random = context_->random;
  absl::Duration d = random.Between(absl::Microseconds(100), absl::Milliseconds(2));
  if (!context_->healing && random.Chance(0.05)) d += random.Between({}, absl::Milliseconds(400));
  if (late_until_ > context_->now()) d += late_until_ - context_->now();
  return d;
}

std::shared_ptr<Stream> Link::Open(const std::shared_ptr<WorkerEnd>& worker,
                                   std::weak_ptr<CoordinatorEnd> coordinator,
                                   protocol::Hello hello) {
  auto stream = std::make_shared<Stream>(context_, this, ++opened_, worker, coordinator);
  streams_.push_back(stream);
  if (cut()) stream->Break(cut_up_, cut_down_);
  stream->Send(Up(std::move(hello)));
  return stream;
}

std::vector<std::shared_ptr<Stream>> Link::Streams() {
  std::vector<std::shared_ptr<Stream>> alive;
  for (const auto& weak : streams_) {
    if (auto stream = weak.lock()) alive.push_back(std::move(stream));
  }
  streams_.assign(alive.begin(), alive.end());
  return alive;
}

void Link::Cut(bool up, bool down) {
  cut_up_ = up;
  cut_down_ = down;
  for (const auto& stream : Streams()) stream->Break(up, down);
}

void Link::BreakAll() {
  for (const auto& stream : Streams()) stream->Break(true, true);
}

void Link::ResetAll() {
  for (const auto& stream : Streams()) stream->Reset();
}

void Link::CoordinatorDied() {
  for (const auto& stream : Streams()) stream->CoordinatorDied();
}

}  // namespace hpc::sim

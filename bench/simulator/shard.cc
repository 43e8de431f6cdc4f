#include "bench/simulator/shard.h"

#include <algorithm>

#include "absl/time/time.h"

namespace hpc::simulator {
namespace {

gpr_timespec InFuture(absl::Duration wait) {
  const int64_t ns = std::max<int64_t>(0, absl::ToInt64Nanoseconds(wait));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(ns, GPR_TIMESPAN));
}

}  // namespace

void Shard::Add(MonoTime at, Traits traits, worker::Route route,
                std::shared_ptr<grpc::Channel> shared) {
  Place& place = places_.emplace_back();
  place.traits = std::move(traits);
  place.link = std::make_unique<QueueLink>(&queue_, std::move(route), std::move(shared));
  Arm(places_.size() - 1, at);
}

void Shard::SwitchOn(Place* place, size_t index) {
  place->node = std::make_unique<Node>(clock_.Get(), std::move(place->traits), place->link.get());
  place->link->SetCallbacks({[this, index](const protocol::CoordinatorMessage& message) {
                               places_[index].node->OnMessage(clock_.Get(), message);
                               Look(index);
                             },
                             [this, index](const absl::Status& why) {
                               places_[index].node->OnClosed(clock_.Get(), why);
                               Look(index);
                             }});
}

void Shard::Run() {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    const absl::Duration wait =
        due_.empty() ? absl::Seconds(1) : due_.top().first - clock_.Get().mono;
    if (queue_.AsyncNext(&tag, &ok, InFuture(wait)) == grpc::CompletionQueue::GOT_EVENT) {
      worker::CoordinatorStream::Run(tag, ok);
    }
    TickDue();
  }
}

void Shard::TickDue() {
  const MonoTime now = clock_.Get().mono;
  while (!due_.empty() && due_.top().first <= now) {
    const auto [at, index] = due_.top();
    due_.pop();
    Place& place = places_[index];
    if (place.due != at) continue;
    place.due = MonoTime::Infinite();
    if (place.node == nullptr) SwitchOn(&place, index);
    place.node->Tick(clock_.Get());
    Look(index);
  }
}

void Shard::Look(size_t index) {
  Place& place = places_[index];
  const bool connected = place.node->connected();
  if (connected != place.connected) {
    place.connected = connected;
    connected ? census_->Add(clock_.Get()) : census_->Remove();
  }
  Arm(index, place.node->NextDeadline());
}

void Shard::Arm(size_t index, MonoTime at) {
  Place& place = places_[index];
  if (place.due == at) return;
  place.due = at;
  if (at != MonoTime::Infinite()) due_.emplace(at, index);
}

}  // namespace hpc::simulator

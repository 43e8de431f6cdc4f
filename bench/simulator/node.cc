#include "bench/simulator/node.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "worker/loop/boot_time.h"
#include "worker/runtime/surroundings.h"

namespace hpc::simulator {
namespace {

using worker::Effects;

// No store listens at this port, because the ranks that would meet there do not exist.
constexpr int32_t kStorePort = 29400;
constexpr int64_t kFirstPid = 1000;
constexpr absl::Duration kDropPatience = absl::Seconds(30);
// The size of a rank's metrics file, which has one point.
constexpr int64_t kMetricsFileBytes = 24;

}  // namespace

Node::Node(Now now, Traits traits, worker::Link* link)
    : traits_(std::move(traits)),
      link_(link),
      random_(static_cast<uint32_t>(traits_.incarnation)),
      agent_(traits_.node, now, worker::OwnerState(), {}) {}

void Node::Decide(Now now, const std::function<void(Effects*)>& event) {
  Effects fresh;
  event(&fresh);
  effects_.insert(effects_.end(), std::make_move_iterator(fresh.begin()),
                  std::make_move_iterator(fresh.end()));
  if (deciding_) return;
  deciding_ = true;
  while (!effects_.empty()) {
    const worker::Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([&](const auto& one) { Do(now, one); }, effect);
  }
  deciding_ = false;
}

void Node::OnMessage(Now now, const protocol::CoordinatorMessage& message) {
  if (const auto* ack = std::get_if<protocol::LogAck>(&message)) OnAck(*ack);
  Decide(now, [&](Effects* effects) { agent_.OnMessage(now, message, effects); });
  if (std::holds_alternative<protocol::Welcome>(message)) {
    for (const auto& [ref, work] : work_) {
      if (work.over) SendOutput(ref, work);
    }
  }
  DropDone(now);
}

void Node::OnClosed(Now now, const absl::Status& why) {
  const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
  Decide(now, [&](Effects* effects) { agent_.OnLinkClosed(now, why, jitter, effects); });
}

void Node::Tick(Now now) {
  for (auto& [ref, work] : work_) {
    if (work.ends <= now.mono) {
      protocol::RankExit exit;
      exit.exit_code = 0;
      End(now, ref, &work, exit);
    }
  }
  DropDone(now);
  Decide(now, [&](Effects* effects) { agent_.Tick(now, effects); });
}

MonoTime Node::NextDeadline() const {
  MonoTime next = agent_.NextDeadline();
  for (const auto& [ref, work] : work_) next = std::min({next, work.ends, work.drop_by});
  return next;
}

// ------------------------------------------------------------------------------ the coordinator

void Node::Do(Now, const worker::OpenLink& effect) {
  protocol::Hello hello = effect.hello;
  hello.node = traits_.node;
  hello.incarnation = traits_.incarnation;
  hello.boot_id = absl::StrCat("simulated-", traits_.node);
  hello.address = traits_.address;
  hello.can_vouch = true;
  hello.inventory = traits_.inventory;
  hello.said = absl::Nanoseconds(worker::BootTimeNs());
  link_->Open(hello);
}

void Node::Do(Now, const worker::CloseLink&) { link_->Close(); }

void Node::Do(Now, const worker::Say& effect) { link_->Send(effect.message, worker::BootTimeNs()); }

void Node::Do(Now now, const worker::SayHeartbeat& effect) {
  protocol::Heartbeat beat;
  for (const auto& [ref, work] : work_) {
    if (!work.began || work.over) continue;
    for (int32_t i = 0; i < work.ranks; ++i) {
      beat.doing.push_back({ref, work.first_rank + i, "running"});
    }
  }
  link_->SendHeartbeat(TakeUsage(now), beat, effect.answer_may_wait);
}

// Usage is due as often as a worker looks at its GPUs. Each look finds another load.
std::vector<worker::DeviceUsage> Node::TakeUsage(Now now) {
  if (now.mono < next_usage_ || !worker::HasGpus(traits_.inventory)) return {};
  next_usage_ = now.mono + worker::Surroundings::kUsageInterval;
  std::vector<worker::DeviceUsage> usage;
  for (const protocol::Device& device : traits_.inventory.devices) {
    worker::DeviceUsage one;
    one.index = device.index;
    one.utilisation_percent = std::uniform_int_distribution<int32_t>(0, 100)(random_);
    one.memory_used_bytes = device.memory_bytes / 4;
    usage.push_back(one);
  }
  return usage;
}

// ------------------------------------------------------------------------------------- attempts

void Node::Do(Now now, const worker::PrepareAttempt& effect) {
  const protocol::Prepare& prepare = effect.prepare;
  Work& work = work_[prepare.ref];
  work.first_rank = prepare.first_rank;
  work.ranks = prepare.ranks;
  protocol::Prepared prepared{prepare.ref, absl::OkStatus(), "", 0, true};
  if (prepare.node_rank == 0) {
    prepared.store_addr = traits_.address;
    prepared.store_port = kStorePort;
  }
  Decide(now, [&](Effects* effects) { agent_.OnPrepared(now, prepared, effects); });
  link_->Send(
      protocol::EnvironmentReport{
          prepare.ref, {{"python", "3.11.2"}}, {{"NODE_RANK", absl::StrCat(prepare.node_rank)}}},
      worker::BootTimeNs());
}

void Node::Do(Now now, const worker::StartAttempt& effect) {
  const AttemptRef ref = effect.start.ref;
  const auto found = work_.find(ref);
  if (found == work_.end()) return;
  Work& work = found->second;
  work.began = true;
  work.started = now.mono;
  work.ends = now.mono + traits_.run_time;
  Decide(now, [&](Effects* effects) {
    for (int32_t i = 0; i < work.ranks; ++i) {
      agent_.OnRankStarted(now, ref, work.first_rank + i, kFirstPid + i, absl::ZeroDuration(),
                           effects);
    }
  });
}

void Node::Do(Now now, const worker::StopAttempt& effect) {
  const auto found = work_.find(effect.ref);
  if (found == work_.end()) return;
  protocol::RankExit exit;
  exit.signal = SIGTERM;
  exit.after_stop = true;
  End(now, effect.ref, &found->second, exit);
}

void Node::End(Now now, AttemptRef ref, Work* work, const protocol::RankExit& exit) {
  if (std::exchange(work->over, true)) return;
  work->ends = MonoTime::Infinite();
  for (int32_t i = 0; work->began && i < work->ranks; ++i) {
    work->unacknowledged.insert(work->first_rank + i);
  }
  if (connected()) SendOutput(ref, *work);
  Decide(now, [&](Effects* effects) {
    for (int32_t i = 0; work->began && i < work->ranks; ++i) {
      agent_.OnRankExited(now, ref, work->first_rank + i, exit,
                          {now.mono - work->started, absl::ZeroDuration()}, effects);
    }
    agent_.OnReturned(now, ref, {}, effects);
  });
}

std::string Node::LineOf(AttemptRef ref, int32_t rank) const {
  return absl::StrCat("rank ", rank, " of ", ref.ToString(), " on ", traits_.node, "\n");
}

// Sends all of it each time: the coordinator drops what it has already.
void Node::SendOutput(AttemptRef ref, const Work& work) {
  for (int32_t rank = work.first_rank; rank < work.first_rank + work.ranks; ++rank) {
    protocol::MetricData metrics{.ref = ref, .rank = rank, .ended = true};
    if (work.began) {
      metrics.end_offset = kMetricsFileBytes;
      metrics.points.push_back({"loss", 1, 0.5, absl::ZeroDuration()});
      link_->Send(protocol::LogData{{ref, rank, false}, 0, LineOf(ref, rank)},
                  worker::BootTimeNs());
    }
    link_->Send(metrics, worker::BootTimeNs());
    for (const bool is_stderr : {false, true}) {
      link_->Send(protocol::LogEnd{{ref, rank, is_stderr}, 0}, worker::BootTimeNs());
    }
  }
}

void Node::OnAck(const protocol::LogAck& ack) {
  const auto found = work_.find(ack.stream.ref);
  if (found == work_.end() || ack.stream.is_stderr) return;
  const std::string line = LineOf(ack.stream.ref, ack.stream.rank);
  if (ack.offset >= static_cast<int64_t>(line.size())) {
    found->second.unacknowledged.erase(ack.stream.rank);
  }
}

void Node::Do(Now now, const worker::DropAttempt& effect) {
  const auto found = work_.find(effect.ref);
  if (found == work_.end()) return agent_.OnDropped(effect.ref);
  found->second.drop_by = now.mono + kDropPatience;
}

void Node::DropDone(Now now) {
  for (auto it = work_.begin(); it != work_.end();) {
    const auto& [ref, work] = *it;
    const bool asked = work.drop_by != MonoTime::Infinite();
    if (!asked || (!work.unacknowledged.empty() && now.mono < work.drop_by)) {
      ++it;
      continue;
    }
    agent_.OnDropped(ref);
    it = work_.erase(it);
  }
}

void Node::Do(Now, const worker::RecallRanks& effect) {
  Effects effects;
  agent_.OnRecalled({effect.recall.ref, effect.recall.node,
                     absl::UnavailableError("a simulated PC has no supervisor")},
                    &effects);
  effects_.insert(effects_.end(), effects.begin(), effects.end());
}

void Node::Do(Now, const worker::Sleep&) {
  Effects effects;
  agent_.OnSleepFailed("a simulated PC does not sleep", &effects);
  effects_.insert(effects_.end(), effects.begin(), effects.end());
}

}  // namespace hpc::simulator

// An agent without a shell: tests tell it what happens and ask what is to be done.
#ifndef HPC_WORKER_CORE_TESTING_AGENT_TESTER_H_
#define HPC_WORKER_CORE_TESTING_AGENT_TESTER_H_

#include <gtest/gtest.h>

#include <optional>

#include "protocol/coordinator_message.h"
#include "worker/core/agent.h"
#include "worker/core/testing/said.h"

namespace hpc::worker {

inline constexpr AttemptRef kRef{12, 1};

inline protocol::Prepare OneRank(AttemptRef ref = kRef, int32_t device = 0) {
  protocol::Prepare prepare;
  prepare.ref = ref;
  prepare.devices = {device};
  prepare.ranks = 1;
  prepare.world_size = 1;
  return prepare;
}

class AgentTester : public ::testing::Test {
 protected:
  AgentTester() : agent_("pc1", clock_.Get(), {}, {}) {}

  Now now() const { return clock_.Get(); }

  Effects Tick() {
    Effects effects;
    agent_.Tick(now(), &effects);
    return effects;
  }
  Effects Hear(const protocol::CoordinatorMessage& message) {
    Effects effects;
    agent_.OnMessage(now(), message, &effects);
    return effects;
  }
  Effects Connect() {
    Tick();
    return Hear(protocol::Welcome{});
  }
  // Connects, and says the two heartbeats that follow a welcome.
  void Settle() {
    Connect();
    Tick();
    Hear(protocol::Heard{now().mono});
    Tick();
  }
  Effects LoseLink() {
    Effects effects;
    agent_.OnLinkClosed(now(), absl::UnavailableError("connection reset"), 1.0, &effects);
    return effects;
  }
  Effects ReportPrepared(AttemptRef ref = kRef) {
    Effects effects;
    agent_.OnPrepared(now(), {ref, absl::OkStatus(), "", 0, true}, &effects);
    return effects;
  }
  Effects Return(AttemptRef ref = kRef) {
    Effects effects;
    agent_.OnReturned(now(), ref, {}, &effects);
    return effects;
  }
  void Run() {
    Hear(OneRank());
    ReportPrepared();
    Hear(protocol::Start{kRef, "10.0.0.1", 1, protocol::StoreHost::kWorker});
    Effects effects;
    agent_.OnRankStarted(now(), kRef, 0, 100, {}, &effects);
  }
  Effects Reclaim(std::optional<absl::Duration> duration = std::nullopt) {
    Effects effects;
    YieldRequest request;
    request.duration = duration;
    request.reason = "a game";
    agent_.Reclaim(now(), request, &effects);
    return effects;
  }
  // Lets time pass, to the next deadline and past it.
  Effects Wait(absl::Duration d) {
    clock_.Advance(d);
    return Tick();
  }
  // Lets time pass with a Tick once a second, as in a process that nothing delays.
  Effects Stay(absl::Duration d) {
    Effects all;
    for (; d > absl::ZeroDuration(); d -= absl::Seconds(1)) {
      const Effects some = Wait(absl::Seconds(1));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  FakeClock clock_;
  Agent agent_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_TESTING_AGENT_TESTER_H_

// A worker process finds attempts of the process before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/core/agent.h"
#include "worker/core/testing/said.h"

namespace hpc::worker {
namespace {

using testing::All;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Said;
using ::testing::SizeIs;

AdoptedAttempt Running(AttemptRef ref, std::vector<int32_t> devices) {
  AdoptedAttempt attempt;
  attempt.ref = ref;
  attempt.devices = std::move(devices);
  attempt.started = true;
  attempt.ranks = {{0, 100, std::nullopt, {}}};
  return attempt;
}

class AdoptedAgentTest : public ::testing::Test {
 protected:
  Agent Find(const std::vector<AdoptedAttempt>& attempts, const OwnerState& owner = {}) const {
    return Agent("pc1", clock_.Get(), owner, attempts);
  }
  Effects Tick(Agent* agent) const {
    Effects effects;
    agent->Tick(clock_.Get(), &effects);
    return effects;
  }

  FakeClock clock_;
};

TEST_F(AdoptedAgentTest, WhatItsPredecessorDidNotLiveToStopForTheOwnerIsStopped) {
  OwnerState owner;
  owner.reclaimed = true;
  Agent agent = Find({Running({12, 1}, {0})}, owner);
  const Effects effects = Tick(&agent);
  ASSERT_THAT(All<StopAttempt>(effects), SizeIs(1));
  EXPECT_EQ(All<StopAttempt>(effects)[0].grace, absl::Seconds(10));
  EXPECT_THAT(All<StopAttempt>(Tick(&agent)), IsEmpty()) << "once";
}

TEST_F(AdoptedAgentTest, WhatItsPredecessorStopsForTheOwnerKeepsTheGraceThatItHas) {
  OwnerState owner;
  owner.reclaimed = true;
  AdoptedAttempt stopping = Running({12, 1}, {0});
  stopping.halt = {protocol::HaltKind::kOwner, "pc1 was taken back", absl::Seconds(3)};
  Agent agent = Find({stopping}, owner);
  EXPECT_THAT(All<StopAttempt>(Tick(&agent)), IsEmpty());

  AdoptedAttempt recalled = Running({13, 1}, {0});
  recalled.halt = {protocol::HaltKind::kCutOff, "recall", absl::Seconds(3)};
  Agent other = Find({recalled}, owner);
  EXPECT_THAT(All<StopAttempt>(Tick(&other)), SizeIs(1))
      << "it may have longer than an owner waits";
}

TEST_F(AdoptedAgentTest, AllThatClaimOneDeviceAreStoppedAndTheHelloTellsWhy) {
  Agent agent = Find({Running({12, 1}, {0, 1}), Running({13, 1}, {2}), Running({14, 2}, {3, 1})});
  const Effects effects = Tick(&agent);
  const auto stops = All<StopAttempt>(effects);
  ASSERT_THAT(stops, SizeIs(2));
  EXPECT_EQ(stops[0].ref, (AttemptRef{12, 1}));
  EXPECT_EQ(stops[1].ref, (AttemptRef{14, 2}));
  EXPECT_EQ(stops[0].reason,
            "device 1 is attempt 14.2's too, as the worker's files say: they are damaged");
  EXPECT_THAT(All<Say>(effects), IsEmpty()) << "the hello says it";
  const auto held = All<OpenLink>(effects).at(0).hello.attempts;
  EXPECT_THAT(held.at(0).halt.reason, HasSubstr("attempt 14.2's too"));
  EXPECT_EQ(held.at(1).halt.reason, "");
  EXPECT_THAT(held.at(2).halt.reason, HasSubstr("attempt 12.1's too"));
  EXPECT_THAT(All<StopAttempt>(Tick(&agent)), IsEmpty()) << "once";
}

TEST_F(AdoptedAgentTest, ExtendsNoLeaseBeforeItIsWelcome) {
  Agent agent = Find({Running({12, 1}, {0})});
  Tick(&agent);
  Effects effects;
  agent.OnLinkClosed(clock_.Get(), absl::UnavailableError("refused"), 1.0, &effects);
  EXPECT_THAT(All<ExtendLeases>(effects), IsEmpty());
}

TEST_F(AdoptedAgentTest, ADeviceOfOneThatIsOverMayBeAnothers) {
  AdoptedAttempt over = Running({12, 1}, {0});
  over.returned = true;
  Agent agent = Find({over, Running({12, 2}, {0})});
  EXPECT_THAT(All<StopAttempt>(Tick(&agent)), IsEmpty());
}

TEST_F(AdoptedAgentTest, WhatAnEarlierProcessPreparedIsNotStarted) {
  AdoptedAttempt prepared = Running({12, 1}, {0});
  prepared.started = false;
  prepared.ranks = {{0, 0, std::nullopt, {}}};
  Agent agent = Find({prepared});
  Tick(&agent);
  Effects effects;
  agent.OnMessage(clock_.Get(), protocol::Welcome{}, &effects);
  agent.OnMessage(clock_.Get(),
                  protocol::Start{{12, 1}, "10.0.0.1", 1, protocol::StoreHost::kWorker, true},
                  &effects);
  EXPECT_THAT(All<StartAttempt>(effects), IsEmpty());
  ASSERT_THAT(All<Note>(effects), SizeIs(1));
  EXPECT_EQ(All<Note>(effects)[0].text,
            "attempt 12.1 was told to start while prepared by an earlier worker process: ignored");
}

}  // namespace
}  // namespace hpc::worker

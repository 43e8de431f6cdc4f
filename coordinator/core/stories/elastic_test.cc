// A run of -N 2:4 starts with the nodes that are there, goes on with those that are left, and grows
// when nodes return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kSteady = absl::Seconds(30);

// ------------------------------------------------------------------------------------- last call

TEST(LastCallTest, ARunThatCouldStartWaitsAMomentForMoreNodes) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2, 4));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.Wait(run), "could start with fewer, and waits 2 s for more: wants 2 to 4 nodes");
  c.Pass(absl::Milliseconds(1900));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  c.Pass(absl::Milliseconds(200));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc2"));
}

TEST(LastCallTest, WhoComesInTimeIsInTheGang) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2, 4));
  c.Pass(absl::Seconds(1));
  c.Join({"pc3"});
  EXPECT_EQ(c.state(run), RunState::kQueued);
  c.Pass(absl::Milliseconds(1100));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc2", "pc3"));
}

TEST(LastCallTest, WithTheMostThatItWantsARunWaitsForNobody) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  EXPECT_EQ(c.state(c.Submit(Nodes(1, 2))), RunState::kStarting);
  const RunId next = c.Submit(Nodes(1, 2));
  EXPECT_EQ(c.state(next), RunState::kQueued);
  c.Join({"pc4"});
  EXPECT_EQ(c.state(next), RunState::kStarting);
}

TEST(LastCallTest, NobodyTakesWhatAnEarlierRunIsAboutToStartWith) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId elastic = c.Submit(Nodes(2, 4));
  const RunId later = c.Submit(Nodes(1));
  EXPECT_EQ(c.state(later), RunState::kQueued);
  c.Pass(absl::Seconds(2));
  EXPECT_THAT(c.nodes_of(elastic), ElementsAre("pc1", "pc2"));
  EXPECT_EQ(c.state(later), RunState::kQueued);
}

TEST(LastCallTest, ANodeThatGoesMeanwhileDoesNotBeginItAnew) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2, 4));
  ASSERT_OK(c.Reclaim("pc2"));
  c.Pass(absl::Seconds(5));
  EXPECT_THAT(c.Wait(run), HasSubstr("pc2 is reclaimed by its owner"));
  ASSERT_OK(c.Lend("pc2"));
  EXPECT_EQ(c.state(run), RunState::kStarting);
}

TEST(LastCallTest, AGangThatLostANodeGoesOnAtOnce) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  const RunId run = c.Submit(Nodes(2, 4));
  c.Pass(absl::Seconds(3));
  c.Run(run);
  ASSERT_OK(c.Reclaim("pc3"));
  c.AllReturned(run);
  EXPECT_EQ(c.attempt(run).ref.number, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc2"));
}

// ---------------------------------------------------------------------------------------- growth

// A gang on pc1 and pc2 that may have three nodes and has run for a minute. pc3 is not there.
class GrowTest : public ::testing::Test {
 protected:
  void Start(GrowMode mode) {
    c_.Join({"pc1", "pc2"});
    RunRequest request = Nodes(1, 3);
    request.grow = mode;
    run_ = c_.Submit(request);
    c_.Pass(absl::Seconds(3));
    c_.Run(run_);
    c_.Pass(absl::Minutes(1));
    c_.TakeEvents();
    c_.TakeMessages();
  }
  int attempt() const { return c_.record(run_).attempts; }
  void Checkpoint() { Saved(c_.ref(run_)); }
  void Saved(AttemptRef ref) { EXPECT_OK(c_.Report("pc1", protocol::CheckpointSaved{ref})); }
  // The ranks of the attempt end when they are told to.
  void Obey() {
    EXPECT_EQ(c_.state(run_), RunState::kStopping);
    c_.AllReturned(run_);
    EXPECT_EQ(c_.state(run_), RunState::kStarting);
    c_.Run(run_);
  }

  ClusterTester c_;
  RunId run_ = 0;
};

TEST_F(GrowTest, NowIsOnceTheNodeHasBeenThereForATime) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  EXPECT_EQ(c_.Wait(run_),
            "may grow from 2 to 3 nodes with pc3, if pc3 stays: it must have been there "
            "and free for 30 s (30 s from now)");
  c_.Pass(kSteady - absl::Seconds(1));
  EXPECT_THAT(c_.Wait(run_), HasSubstr("free for 30 s (1 s from now)"));
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  c_.Pass(absl::Seconds(1));
  Obey();
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
  const std::vector<std::string> events = c_.TakeEvents("run.");
  EXPECT_THAT(events, Contains(HasSubstr("run.may-grow may grow from 2 to 3 nodes with pc3, if "
                                         "pc3 stays: it must have been there and free for 30 s "
                                         "(30 s from now)")));
  EXPECT_THAT(events, Contains("run.stopping grows from 2 to 3 nodes with pc3"));
  EXPECT_THAT(events, Contains("run.requeued grows from 2 to 3 nodes with pc3; costs nothing"));
}

TEST_F(GrowTest, CostsNoBudget) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  Obey();
  EXPECT_EQ(c_.record(run_).failures, 0);
  EXPECT_EQ(c_.record(run_).losses, 0);
}

TEST_F(GrowTest, AtACheckpointIsWhenTheProgramSaysSo) {
  Start(GrowMode::kCheckpoint);
  Checkpoint();
  c_.Join({"pc3"});
  Checkpoint();
  EXPECT_EQ(c_.state(run_), RunState::kRunning) << "pc3 has only just come";
  c_.Pass(kSteady + absl::Minutes(5));
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  EXPECT_EQ(c_.Wait(run_),
            "grows from 2 to 3 nodes with pc3 at the next checkpoint that it tells of");
  Checkpoint();
  Obey();
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
}

TEST_F(GrowTest, NeverIsOnlyWhenItIsStartedAgainAnyway) {
  Start(GrowMode::kNever);
  c_.Join({"pc3"});
  c_.Pass(absl::Hours(1));
  Checkpoint();
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  EXPECT_THAT(c_.Wait(run_), HasSubstr("with pc3 if it were started again"));
  EXPECT_THAT(c_.TakeEvents("run."), IsEmpty()) << "nobody wants to be told";
  ASSERT_OK(c_.Reclaim("pc1"));
  c_.AllReturned(run_);
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc3", "pc2"));
}

TEST_F(GrowTest, ANodeThatCannotRunItIsLeftOut) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  c_.AllReturned(run_);
  ASSERT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
  ASSERT_OK(c_.Prepared(run_, "pc3", absl::NotFoundError("pc3: no command train.py")));
  c_.AllReturned(run_);
  c_.Pass(absl::Seconds(2));
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2"));
  c_.Run(run_);
  const int attempts = attempt();
  c_.Pass(absl::Hours(1));
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  EXPECT_EQ(attempt(), attempts);
}

TEST_F(GrowTest, WhatAnAttemptSaysThatIsOverHasNoMeaning) {
  Start(GrowMode::kCheckpoint);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  Saved({run_, 7});
  Saved({99, 1});
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
}

TEST_F(GrowTest, ANodeThatComesAndGoesMustStayLongerEachTime) {
  Start(GrowMode::kNow);
  for (absl::Duration stays : {kSteady, kSteady, 2 * kSteady, 4 * kSteady}) {
    c_.Join({"pc3"});
    c_.Pass(stays - absl::Seconds(1));
    EXPECT_EQ(c_.state(run_), RunState::kRunning);
    c_.Disconnect("pc3", /*reset=*/true);
    c_.Pass(absl::Seconds(10));
  }
  EXPECT_EQ(attempt(), 1);
  c_.Join({"pc3"});
  EXPECT_EQ(c_.Wait(run_),
            "may grow from 2 to 3 nodes with pc3, if pc3 stays: it was lost or reclaimed "
            "4 times without an hour's rest between, so it must stay for 4 min (4 min from now)");
  c_.Pass(8 * kSteady);
  EXPECT_EQ(c_.state(run_), RunState::kStopping);
}

TEST_F(GrowTest, ANodeThatComesAndGoesHoldsUpNoOthers) {
  RunRequest request = Nodes(2, 4);
  request.grow = GrowMode::kNow;
  c_.Join({"pc1", "pc2", "pc3"});
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(c_.Reclaim("pc3"));
    ASSERT_OK(c_.Lend("pc3"));
  }
  ASSERT_OK(c_.Reclaim("pc3"));
  run_ = c_.Submit(request);
  c_.Pass(absl::Seconds(3));
  c_.Run(run_);
  c_.Pass(absl::Minutes(1));
  ASSERT_OK(c_.Lend("pc3"));
  c_.Join({"pc4"});
  c_.Pass(kSteady);
  Obey();
  // A gang that is started again takes whoever is there.
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3", "pc4"));
}

TEST_F(GrowTest, AnHoursRestForgivesThat) {
  Start(GrowMode::kNever);
  c_.Join({"pc3"});
  for (int i = 0; i < 5; ++i) {
    c_.Disconnect("pc3", /*reset=*/true);
    c_.Pass(absl::Seconds(10));
    c_.Join({"pc3"});
  }
  c_.Pass(absl::Hours(1));
  c_.Disconnect("pc3", /*reset=*/true);
  c_.Pass(absl::Seconds(10));
  ASSERT_OK(c_.Cancel(run_));
  c_.AllReturned(run_);
  RunRequest request = Nodes(2, 3);
  request.grow = GrowMode::kNow;
  run_ = c_.Submit(request);
  c_.Pass(absl::Seconds(3));
  c_.Run(run_);
  c_.Pass(absl::Minutes(1));
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  EXPECT_EQ(c_.state(run_), RunState::kStopping);
}

TEST_F(GrowTest, TwoGrowthsDoNotComeCloseTogether) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  Obey();
  ASSERT_OK(c_.Reclaim("pc3"));
  c_.AllReturned(run_);
  c_.Run(run_);
  ASSERT_OK(c_.Lend("pc3"));
  c_.Pass(kSteady - absl::Seconds(1));
  EXPECT_EQ(attempt(), 3);
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  c_.Pass(absl::Seconds(1));
  EXPECT_EQ(c_.state(run_), RunState::kStopping);
}

TEST_F(GrowTest, AQueuedRunThatWaitsForDevicesGoesFirst) {
  Start(GrowMode::kNow);
  c_.Submit(Nodes(2));  // it waits for two nodes
  c_.Join({"pc3"});
  c_.Pass(absl::Minutes(2));
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  EXPECT_THAT(c_.Wait(run_), HasSubstr("but run 2 waits for devices"));
}

TEST_F(GrowTest, ARunThatGaveUpItsLastCallHoldsUpNobody) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  const RunId gathers = c_.Submit(Nodes(1, 3));
  ASSERT_OK(c_.Cancel(gathers));
  c_.Pass(kSteady);
  EXPECT_EQ(c_.state(run_), RunState::kStopping) << c_.Wait(run_);
}

TEST_F(GrowTest, WhatItGrowsOntoIsKeptForItMeanwhile) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  EXPECT_EQ(c_.state(run_), RunState::kStopping);
  const RunId later = c_.Submit(Nodes(1));
  EXPECT_EQ(c_.state(later), RunState::kQueued);
  EXPECT_THAT(c_.Wait(later), HasSubstr("pc3 is kept for a run that starts again on it"));
  Obey();
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
}

TEST_F(GrowTest, IfTheNodeGoesAgainMeanwhileTheRunGoesOnAsBefore) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  ASSERT_OK(c_.Reclaim("pc3"));
  Obey();
  EXPECT_THAT(c_.nodes_of(run_), ElementsAre("pc1", "pc2"));
  // And the devices that were kept are free again.
  ASSERT_OK(c_.Lend("pc3"));
  EXPECT_EQ(c_.state(c_.Submit(Nodes(1))), RunState::kStarting);
}

TEST_F(GrowTest, MoreNodesThatMakeFewerRanksAreNoGrowth) {
  ASSERT_OK(c_.Hello(HelloOf("big", 8)));
  RunRequest request = Nodes(1, 2);
  request.grow = GrowMode::kNow;
  run_ = c_.Submit(request);
  c_.Pass(absl::Seconds(3));
  c_.Run(run_);
  c_.Join({"small"});  // it has one GPU: every node of the gang would use only one
  c_.Pass(absl::Minutes(2));
  EXPECT_EQ(c_.state(run_), RunState::kRunning);
  EXPECT_EQ(c_.Wait(run_), "");
}

TEST_F(GrowTest, ACancelWins) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  ASSERT_OK(c_.Cancel(run_));
  c_.AllReturned(run_);
  EXPECT_EQ(c_.state(run_), RunState::kCancelled);
  EXPECT_EQ(c_.state(c_.Submit(Nodes(3))), RunState::kStarting);
}

TEST_F(GrowTest, ARestartedCoordinatorGoesOnWithIt) {
  Start(GrowMode::kNow);
  c_.Join({"pc3"});
  c_.Pass(kSteady);
  ASSERT_EQ(c_.state(run_), RunState::kStopping);
  ClusterTester again({}, c_.Durable());
  again.Join({"pc1", "pc2", "pc3"});
  EXPECT_EQ(again.record(run_).losses, 0);
  again.Pass(absl::Minutes(6));  // the ranks that workers have forgotten are gone by then
  EXPECT_THAT(again.nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
}

// ------------------------------------------------------------------------- after a restart

// The coordinator died while an attempt on pc1 and pc2 was being started. That is why the attempt
// ends. pc3 is free, and was there before.
class BackOneByOneTest : public ::testing::Test {
 protected:
  BackOneByOneTest() {
    ClusterTester before;
    before.Join({"pc1", "pc2"});
    run_ = before.Submit(Nodes(2, 3));
    before.Pass(absl::Seconds(2));
    before.Join({"pc3"});
    after_ = std::make_unique<ClusterTester>(ClusterOptions{}, before.Durable());
    for (const char* name : {"pc1", "pc2"}) {
      protocol::Hello hello = HelloOf(name);
      hello.attempts.push_back({before.ref(run_), /*started=*/false, /*returned=*/true, {}, {}});
      EXPECT_OK(after_->Hello(hello));
    }
  }

  std::unique_ptr<ClusterTester> after_;
  RunId run_ = 0;
};

TEST_F(BackOneByOneTest, TheRunWaitsForANodeThatIsStillToConnect) {
  after_->Pass(absl::Seconds(4));
  EXPECT_THAT(after_->Wait(run_), HasSubstr("could start with fewer, and waits 1 s for more"));
  after_->Join({"pc3"});
  EXPECT_THAT(after_->nodes_of(run_), ElementsAre("pc1", "pc2", "pc3"));
}

TEST_F(BackOneByOneTest, ButNotForEver) {
  after_->Pass(absl::Seconds(5));
  EXPECT_THAT(after_->nodes_of(run_), ElementsAre("pc1", "pc2"));
}

TEST_F(BackOneByOneTest, NorForOneThatItCannotUse) {
  ASSERT_OK(after_->Reclaim("pc3"));
  after_->Pass(absl::Seconds(2));
  EXPECT_THAT(after_->nodes_of(run_), ElementsAre("pc1", "pc2"));
}

TEST_F(BackOneByOneTest, OneThatIsLentMeanwhileIsWaitedForToo) {
  ASSERT_OK(after_->Reclaim("pc3"));
  after_->Pass(absl::Seconds(1));
  ASSERT_OK(after_->Lend("pc3"));
  after_->Pass(absl::Seconds(3));
  EXPECT_THAT(after_->Wait(run_), HasSubstr("waits 1 s for more"));
}

}  // namespace
}  // namespace hpc::coordinator::testing

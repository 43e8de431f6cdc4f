#include "coordinator/runtime/output_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeNode;
using testing::MakeProgram;
using testing::MakeRun;
using testing::TempDir;

constexpr AttemptRef kRef{1, 1};

MonoTime At(absl::Duration d) { return MonoTime{d}; }

PlacementRecord Placed(const std::string& node, int32_t first_rank) {
  return {.ref = kRef, .node = node, .first_rank = first_rank, .ranks = 1};
}
RankRecord Started(const std::string& node, int32_t rank) {
  return {.ref = kRef, .rank = rank, .node = node, .pid = 100};
}
RunRecord Ended() {
  RunRecord run = MakeRun(1);
  run.state = RunState::kSucceeded;
  return run;
}

class OutputTrackerTest : public ::testing::Test {
 protected:
  OutputTrackerTest() : store_(*OpenSqliteStore(dir_.File("hpc.db"))), tracker_(store_.get()) {}

  void Apply(const Change& change) { tracker_.Apply(now_, change); }
  void StartTwo() {
    for (int32_t rank : {0, 1}) {
      const std::string node = rank == 0 ? "pc1" : "pc2";
      Apply(Placed(node, rank));
      Apply(Started(node, rank));
    }
  }
  void EndStreams(int32_t rank) {
    tracker_.StreamEnded({kRef, rank, false});
    tracker_.StreamEnded({kRef, rank, true});
    tracker_.MetricsEnded(kRef, rank);
  }
  std::vector<RunId> Take() {
    return tracker_.TakeComplete(now_, [this](const std::string& n) { return !gone_.contains(n); });
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  OutputTracker tracker_;
  MonoTime now_ = At(absl::Seconds(100));
  std::set<std::string> gone_;
};

TEST_F(OutputTrackerTest, ARunIsCompleteWhenItIsOverAndAllStreamsHaveEnded) {
  StartTwo();
  EndStreams(0);
  EndStreams(1);
  EXPECT_THAT(Take(), IsEmpty());  // the run is not over
  EXPECT_FALSE(tracker_.Complete(1));
  Apply(Ended());
  EXPECT_THAT(Take(), ElementsAre(1));
  EXPECT_TRUE(tracker_.Complete(1));
}

// If each end had to look at each rank, this would take minutes.
TEST_F(OutputTrackerTest, AskingCostsWhatIsOpenNotWhatTheRunHas) {
  constexpr int32_t kRanks = 20'000;
  PlacementRecord placed = Placed("pc1", 0);
  placed.ranks = kRanks;
  Apply(placed);
  for (int32_t rank = 0; rank < kRanks; ++rank) Apply(Started("pc1", rank));
  Apply(Ended());
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_THAT(Take(), IsEmpty());
    EndStreams(rank);
  }
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, OneOpenStreamIsWaitedForUntilPatienceEnds) {
  StartTwo();
  EndStreams(0);
  tracker_.StreamEnded({kRef, 1, false});
  Apply(Ended());
  now_ = now_ + absl::Milliseconds(9999);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(tracker_.NextDeadline(), At(absl::Seconds(110)));
  now_ = now_ + absl::Milliseconds(1);
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, MetricsAreWaitedForToo) {
  StartTwo();
  EndStreams(0);
  tracker_.StreamEnded({kRef, 1, false});
  tracker_.StreamEnded({kRef, 1, true});
  Apply(Ended());
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_TRUE(tracker_.MetricsEnded(kRef, 1));
  EXPECT_FALSE(tracker_.MetricsEnded(kRef, 1)) << "it is known";
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, OutputThatStillComesIsWaitedForAsLongAsItDoes) {
  StartTwo();
  EndStreams(0);
  Apply(Ended());
  for (int i = 0; i < 10; ++i) {
    now_ = now_ + absl::Seconds(9);
    EXPECT_THAT(Take(), IsEmpty());
    tracker_.Heard(now_, 1);
  }
  now_ = now_ + absl::Seconds(10);
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, ANodeThatIsGoneIsWaitedForLess) {
  StartTwo();
  EndStreams(0);
  gone_ = {"pc2"};
  Apply(Ended());
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(tracker_.NextDeadline(), At(absl::Seconds(103)));
  now_ = now_ + absl::Seconds(3);
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, ARunWhoseRanksNeverStartedIsCompleteAtOnce) {
  Apply(Placed("pc1", 0));
  Apply(Ended());
  EXPECT_THAT(Take(), ElementsAre(1));
}

TEST_F(OutputTrackerTest, ARunThatWasNeverPlacedIsComplete) {
  Apply(Ended());
  EXPECT_TRUE(tracker_.Complete(1));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(OutputTrackerTest, OnlyTheNodesOfAnAttemptMaySpeakForIt) {
  StartTwo();
  EXPECT_OK(tracker_.CheckRank(now_, "pc1", kRef, 0));
  EXPECT_THAT(tracker_.CheckRank(now_, "pc1", kRef, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(tracker_.CheckNode(now_, "pc3", kRef), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(tracker_.CheckNode(now_, "pc1", {1, 2}), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(OutputTrackerTest, AfterARestartOutputOfRunsThatAreOverIsWaitedForUntilNodesAreBack) {
  const absl::Time end = absl::FromUnixSeconds(1'800'000'000);
  AttemptRecord attempt;
  attempt.ref = kRef;
  attempt.created_at = absl::UnixEpoch();
  RunRecord run = Ended();
  run.ended_at = end;
  RankRecord rank = Started("pc1", 0);
  rank.started_at = end;
  WriteBatch batch;
  batch.changes = {MakeNode("pc1"), run, attempt, Placed("pc1", 0), rank};
  batch.programs = {{1, MakeProgram()}};
  batch.log_streams = {{.ref = kRef, .rank = 0, .is_stderr = false}};
  ASSERT_OK(store_->Commit(batch));

  OutputTracker long_after(store_.get());
  ASSERT_OK(long_after.Restore({now_, end + absl::Hours(2)}, Snapshot()));
  EXPECT_TRUE(long_after.Complete(1));

  ASSERT_OK(tracker_.Restore({now_, end + absl::Minutes(1)}, Snapshot()));
  EXPECT_FALSE(tracker_.Complete(1));
  gone_ = {"pc1"};
  now_ = now_ + absl::Milliseconds(9999);
  EXPECT_THAT(Take(), IsEmpty());
  EndStreams(0);
  EXPECT_THAT(Take(), ElementsAre(1));

  batch = {};
  batch.log_streams = {{.ref = kRef, .rank = 0, .is_stderr = true}};
  ASSERT_OK(store_->Commit(batch));
  OutputTracker complete(store_.get());
  ASSERT_OK(complete.Restore({now_, end}, Snapshot()));
  EXPECT_TRUE(complete.Complete(1));
}

TEST_F(OutputTrackerTest, LateOutputOfARunThatIsOverIsLookedUpAndWaitedForAgain) {
  AttemptRecord attempt;
  attempt.ref = kRef;
  attempt.created_at = absl::UnixEpoch();
  attempt.state = AttemptState::kEnded;
  WriteBatch batch;
  batch.changes = {MakeNode("pc1"), Ended(), attempt, Placed("pc1", 0), Started("pc1", 0)};
  batch.programs = {{1, MakeProgram()}};
  ASSERT_OK(store_->Commit(batch));
  EXPECT_TRUE(tracker_.Complete(1));
  EXPECT_OK(tracker_.CheckRank(now_, "pc1", kRef, 0));
  EXPECT_FALSE(tracker_.Complete(1));
  tracker_.StreamEnded({kRef, 0, false});
  tracker_.StreamEnded({kRef, 0, true});
  EXPECT_THAT(Take(), ElementsAre(1));
}

}  // namespace
}  // namespace hpc::coordinator

#include "coordinator/core/gangs/finished_ranks.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

absl::Time WallAt(double seconds) { return absl::FromUnixMillis(0) + absl::Seconds(seconds); }

// A gang of seven ranks of which rank 0 on pc1 has failed 10 s after its start.
class FinishedRanksTest : public testing::Test {
 protected:
  FinishedRanksTest() {
    attempt_.record.world_size = 7;
    for (int rank = 0; rank < 7; ++rank) {
      RankRecord record;
      record.rank = rank;
      record.node = rank < 2 ? "pc1" : "pc3";
      attempt_.ranks.push_back(record);
    }
    Ended(0, 10, {1, {}, false, "Connection closed by peer", ""});
  }
  void Ended(int rank, double at, const protocol::RankExit& exit = {0, {}, false, "", ""}) {
    attempt_.ranks[static_cast<size_t>(rank)].exit = exit;
    attempt_.ranks[static_cast<size_t>(rank)].ended_at = WallAt(at);
  }
  std::string Said(CauseKind kind = CauseKind::kOfPeer, int32_t exit_code = 1) const {
    Cause failure;
    failure.kind = kind;
    failure.rank = 0;
    failure.exit_code = exit_code;
    return WithWhoHadFinished(attempt_, failure, "it failed");
  }

  Attempt attempt_;
};

TEST_F(FinishedRanksTest, AComplaintAboutAPeerNamesTheOneThatHadExited) {
  Ended(2, 7);
  EXPECT_EQ(Said(), "rank 2 on pc3 exited with code 0, and 3 s later it failed");
}

TEST_F(FinishedRanksTest, TheFirstThreeAreNamedInTheOrderOfTheirEnds) {
  Ended(5, 9.5);
  Ended(2, 9);
  EXPECT_EQ(Said(), "rank 2 on pc3 and rank 5 on pc3 exited with code 0, and 1 s later it failed");
  for (int rank : {1, 3, 4}) Ended(rank, rank);
  EXPECT_EQ(Said(),
            "rank 1 on pc1, rank 3 on pc3, rank 4 on pc3 and 2 more exited with code 0, and 9 s "
            "later it failed");
}

TEST_F(FinishedRanksTest, ARankClosesItsConnectionsBeforeItsEndIsSeen) {
  Ended(2, 10.2);
  EXPECT_EQ(Said(), "rank 2 on pc3 exited with code 0, and at about the same time it failed");
  Ended(2, 11.1);
  EXPECT_EQ(Said(), "it failed");
}

TEST_F(FinishedRanksTest, WhoFailedOrWasToldToEndHadNotFinished) {
  Ended(1, 7, {3, {}, false, "", ""});
  Ended(2, 7, {0, {}, true, "", ""});
  EXPECT_EQ(Said(), "it failed");
}

TEST_F(FinishedRanksTest, AFailureOfItsOwnHasNothingToDoWithThem) {
  Ended(2, 7);
  EXPECT_EQ(Said(CauseKind::kOwn), "it failed");
  EXPECT_EQ(Said(CauseKind::kCluster), "it failed");
  EXPECT_EQ(WithWhoHadFinished(attempt_, Cause(), "x"), "x") << "restored from an older record";
}

TEST_F(FinishedRanksTest, AnAbortMayBeOneOnTheWayOut) {
  EXPECT_EQ(Said(CauseKind::kOwn, 134), "it failed");
  Ended(2, 7);
  Ended(3, 10.5);
  EXPECT_EQ(
      Said(CauseKind::kOwn, 134),
      "it failed (when 1 of 7 ranks had exited 0: perhaps on its way out, with its work done)");
}

}  // namespace
}  // namespace hpc::coordinator

#include "worker/attempts/peers/gang_witness.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "common/clock.h"
#include "common/status_matchers.h"
#include "worker/loop/boot_time.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

constexpr AttemptRef kRef{12, 1};

// Three nodes of one attempt on this machine.
class GangWitnessTest : public ::testing::Test {
 protected:
  GangWitnessTest() {
    store_ = StoreServer::Listen(&loop_, {.address = "127.0.0.1"}).value();
    for (int32_t rank = 0; rank < 3; ++rank) Begin(rank);
  }
  void Begin(int32_t rank) {
    WitnessRecord record{rank, 3, "127.0.0.1", "127.0.0.1", store_->port(), absl::Milliseconds(5)};
    nodes_[rank] = std::make_unique<GangWitness>(
        &loop_, kRef, record, store_.get(),
        GangWitness::Callbacks{[this, rank] { return vouch_[rank]; },
                               [this, rank](MonoTime at) { whole_at_[rank] = at; },
                               [this, rank](MonoTime at) { heard_at_[rank] = at; }});
  }
  // Whether that node learns that all nodes were there at some time after now.
  bool BecomesWhole(int32_t rank) {
    const MonoTime now{absl::Nanoseconds(BootTimeNs())};
    const MonoTime limit = loop_.clock().Get().mono + absl::Seconds(whole_soon_ ? 20 : 0.3);
    while (whole_at_[rank] <= now && loop_.clock().Get().mono < limit) {
      loop_.RunOnce(absl::Milliseconds(10));
    }
    return whole_at_[rank] > now;
  }

  RealClock clock_;
  EventLoop loop_{&clock_};
  std::unique_ptr<StoreServer> store_;
  std::map<int32_t, std::unique_ptr<GangWitness>> nodes_;
  std::map<int32_t, Vouch> vouch_{{0, Vouch::kYes}, {1, Vouch::kYes}, {2, Vouch::kYes}};
  std::map<int32_t, MonoTime> whole_at_, heard_at_;
  bool whole_soon_ = true;
};

TEST_F(GangWitnessTest, AllNodesComeToKnowThatAllAreThere) {
  for (int32_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(BecomesWhole(rank)) << rank;
}

TEST_F(GangWitnessTest, WithoutOneOfThemNobodyDoes) {
  EXPECT_TRUE(BecomesWhole(1));
  whole_soon_ = false;
  nodes_.erase(2);
  for (int32_t rank = 0; rank < 2; ++rank) EXPECT_FALSE(BecomesWhole(rank)) << rank;
  whole_soon_ = true;
  Begin(2);
  EXPECT_TRUE(BecomesWhole(1)) << "it is back";
}

TEST_F(GangWitnessTest, OneThatDoesNotVouchIsNotThere) {
  EXPECT_TRUE(BecomesWhole(1));
  whole_soon_ = false;
  for (int32_t silent = 0; silent < 3; ++silent) {
    vouch_[silent] = Vouch::kNo;
    loop_.RunOnce(absl::ZeroDuration());
    const MonoTime before = heard_at_[1];
    EXPECT_FALSE(BecomesWhole(silent == 1 ? 2 : 1)) << silent;
    EXPECT_GT(heard_at_[1], before) << "it is heard all the same";
    vouch_[silent] = Vouch::kYes;
  }
}

TEST_F(GangWitnessTest, OneWhosePartHasEndedForGoodMayGo) {
  EXPECT_TRUE(BecomesWhole(1));
  vouch_[2] = Vouch::kForGood;
  EXPECT_TRUE(BecomesWhole(2));
  nodes_.erase(2);
  for (int32_t rank = 0; rank < 2; ++rank) EXPECT_TRUE(BecomesWhole(rank)) << rank;
}

TEST_F(GangWitnessTest, ANodeThatIsNotAnsweredSaysForHowLongAndWhy) {
  EXPECT_TRUE(BecomesWhole(1));
  EXPECT_EQ(nodes_[0]->Silence(), std::nullopt) << "it is the one that is asked";
  EXPECT_LT(nodes_[1]->Silence()->lasts, absl::Seconds(20));
  nodes_.erase(0);
  const int port = store_->port();
  store_.reset();
  const MonoTime limit = loop_.clock().Get().mono + absl::Seconds(20);
  while (nodes_[1]->Silence()->error.empty() && loop_.clock().Get().mono < limit) {
    loop_.RunOnce(absl::Milliseconds(10));
  }
  const protocol::PeerSilence silence = *nodes_[1]->Silence();
  EXPECT_EQ(silence.ref, kRef);
  EXPECT_EQ(silence.address, "127.0.0.1");
  EXPECT_EQ(silence.port, port);
  EXPECT_GT(silence.lasts, absl::ZeroDuration());
  EXPECT_EQ(silence.error, "Connection refused");
}

TEST_F(GangWitnessTest, TheOneThatIsAskedMayBeStartedAnew) {
  EXPECT_TRUE(BecomesWhole(1));
  nodes_.erase(0);
  const int port = store_->port();
  store_.reset();
  loop_.RunOnce(absl::Milliseconds(10));
  store_ =
      StoreServer::Listen(&loop_, {.address = "127.0.0.1", .port = port, .only_keepalives = true})
          .value();
  Begin(0);
  EXPECT_TRUE(BecomesWhole(1));
}

TEST(WitnessRecordTest, OneOfImpossibleNodesIsDamaged) {
  for (const WitnessRecord& record : {WitnessRecord{0, INT32_MAX, "", "", 1, absl::Seconds(1)},
                                      WitnessRecord{-1, 2, "", "", 1, absl::Seconds(1)},
                                      WitnessRecord{2, 2, "", "", 1, absl::Seconds(1)},
                                      WitnessRecord{0, 2, "", "", 65536, absl::Seconds(1)}}) {
    const testing::TempDir dir;
    ASSERT_OK(WriteWitnessRecord(dir.path(), record));
    EXPECT_FALSE(ReadWitnessRecord(dir.path()));
  }
}

TEST(WitnessRecordTest, WhatIsWrittenIsRead) {
  hpc::testing::TempDir dir;
  EXPECT_FALSE(ReadWitnessRecord(dir.path()));
  ASSERT_OK(WriteWitnessRecord(dir.path(),
                               {2, 3, "10.0.0.3", "10.0.0.1", 4321, absl::Milliseconds(250)}));
  const auto read = ReadWitnessRecord(dir.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->node_rank, 2);
  EXPECT_EQ(read->nodes, 3);
  EXPECT_EQ(read->address, "10.0.0.3");
  EXPECT_EQ(read->store_address, "10.0.0.1");
  EXPECT_EQ(read->store_port, 4321);
  EXPECT_EQ(read->interval, absl::Milliseconds(250));
}

}  // namespace
}  // namespace hpc::worker

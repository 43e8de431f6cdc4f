#include "coordinator/runtime/metric_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/store_reader.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MakeAttempt;
using testing::MakeNode;
using testing::MakeProgram;
using testing::MakeRun;
using ::testing::SizeIs;
using testing::TempDir;

constexpr AttemptRef kFirst{1, 1}, kSecond{1, 2};

class MetricIntakeTest : public ::testing::Test {
 protected:
  MetricIntakeTest() : store_(*OpenSqliteStore(dir_.File("hpc.db"))) {
    WriteBatch batch;
    batch.changes = {MakeRun(1), MakeNode("pc1"), MakeAttempt(kFirst), MakeAttempt(kSecond)};
    batch.programs = {{1, MakeProgram()}};
    EXPECT_OK(store_->Commit(batch));
    Restart();
  }

  void Restart() {
    intake_ = std::make_unique<MetricIntake>(store_.get(), MetricLimits{.bytes = 100, .keys = 2});
  }
  // Adds one point, when the metrics file of rank 0 has this length. Returns whether the point was
  // beyond a limit.
  bool Add(AttemptRef ref, int64_t offset) { return !Add(ref, offset, {"loss"}).empty(); }
  std::string Add(AttemptRef ref, int64_t offset, const std::vector<std::string>& keys) {
    std::vector<MetricPoint> points;
    for (const std::string& key : keys) points.push_back({.ref = ref, .key = key});
    const absl::StatusOr<std::string> cut = intake_->Add("pc1", {ref, 0, offset}, points, false);
    EXPECT_OK(cut.status());
    return *cut;
  }
  void Flush() {
    WriteBatch batch;
    EXPECT_THAT(intake_->Flush(&batch), SizeIs(1)) << "all is acknowledged";
    EXPECT_OK(store_->Commit(batch));
  }
  size_t Stored() { return (*store_->OpenReader())->ListMetrics({.run = 1})->size(); }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<MetricIntake> intake_;
};

TEST_F(MetricIntakeTest, WhatComesAgainIsStoredOnceAndAcknowledgedAgain) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(Add(kFirst, 40));
    Flush();
    EXPECT_EQ(Stored(), 1u);
    Restart();
  }
  EXPECT_EQ(intake_->Offsets(kFirst)->at(0), 40);
}

TEST_F(MetricIntakeTest, WhatBringsNothingNewIsAcknowledgedWithoutAWrite) {
  const auto writes = [this] {
    WriteBatch batch;
    EXPECT_THAT(intake_->Flush(&batch), SizeIs(1));
    return !batch.empty();
  };
  ASSERT_OK(intake_->Add("pc1", {kFirst, 0, 0}, {}, /*last=*/true));
  EXPECT_FALSE(writes()) << "a rank without metrics has ended";
  EXPECT_FALSE(Add(kFirst, 40));
  EXPECT_FALSE(Add(kFirst, 40));
  EXPECT_TRUE(writes());
  EXPECT_FALSE(Add(kFirst, 40));
  EXPECT_FALSE(writes());
}

TEST_F(MetricIntakeTest, ARunIsCutOnceAtItsLimitWithAllItsAttempts) {
  EXPECT_FALSE(Add(kFirst, 60));
  Flush();
  Restart();
  EXPECT_FALSE(Add(kSecond, 40));
  EXPECT_TRUE(Add(kSecond, 41));
  EXPECT_FALSE(Add(kSecond, 42));
  Flush();
  EXPECT_EQ(Stored(), 2u);
  EXPECT_EQ(intake_->Offsets(kSecond)->at(0), 42);
  Restart();
  EXPECT_FALSE(Add(kSecond, 50)) << "it was told before";
  Flush();
  EXPECT_EQ(Stored(), 2u);
}

TEST_F(MetricIntakeTest, ARunHasSoManyNamesAndNoMore) {
  EXPECT_EQ(Add(kFirst, 10, {"loss"}), "");
  Flush();
  Restart();
  EXPECT_THAT(Add(kFirst, 20, {"loss", "accuracy", "loss-of-17", "loss"}),
              AllOf(HasSubstr("metrics of 2 names"), HasSubstr("first 'loss-of-17'")));
  Flush();
  EXPECT_EQ(Stored(), 4u);
  EXPECT_EQ(Add(kFirst, 30, {"loss-of-18", "accuracy"}), "") << "it was told before";
  Flush();
  EXPECT_EQ(Stored(), 5u);
  EXPECT_THAT(*(*store_->OpenReader())->SummarizeMetrics(1), SizeIs(2));
}

}  // namespace
}  // namespace hpc::coordinator

#include "worker/shipping/metric_shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "absl/strings/str_cat.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr AttemptRef kRef{12, 1};
constexpr char kFile[] = "metrics-0.jsonl";

class MetricShipperTest : public ::testing::Test {
 protected:
  MetricShipperTest()
      : shipper_([this](protocol::WorkerMessage m) { sent_.push_back(std::move(m)); }) {}

  void Add(bool known = false) { shipper_.Add(kRef, dir_.path(), dir_.path(), {0}, known); }
  void Pump() { shipper_.Pump(absl::FromUnixSeconds(100), std::nullopt); }
  std::vector<protocol::MetricPoint> Points() const {
    std::vector<protocol::MetricPoint> points;
    for (const protocol::WorkerMessage& m : sent_) {
      const auto& data = std::get<protocol::MetricData>(m);
      points.insert(points.end(), data.points.begin(), data.points.end());
    }
    return points;
  }
  std::vector<std::string> Remarks() const {
    std::vector<std::string> remarks;
    for (const protocol::WorkerMessage& m : sent_) {
      const auto& data = std::get<protocol::MetricData>(m);
      remarks.insert(remarks.end(), data.remarks.begin(), data.remarks.end());
    }
    return remarks;
  }
  bool Ended() const {
    return !sent_.empty() && std::get<protocol::MetricData>(sent_.back()).ended;
  }
  int64_t EndOffset() const { return std::get<protocol::MetricData>(sent_.back()).end_offset; }

  testing::TempDir dir_;
  std::vector<protocol::WorkerMessage> sent_;
  MetricShipper shipper_;
};

TEST_F(MetricShipperTest, AFileWithoutEndIsNotReadForEver) {
  dir_.Append(kFile, "{\"loss\":1}\n");
  std::filesystem::resize_file(dir_.path() + "/" + kFile, int64_t{50} << 30);
  Add();
  shipper_.OnReturned(kRef);
  while (!Ended()) {
    Pump();
    shipper_.OnAck({kRef, 0, EndOffset()});
    if (!Ended()) sent_.erase(sent_.begin() + 1, sent_.end());
    ASSERT_LE(EndOffset(), MetricShipper::kMaxFileBytes + MetricShipper::kWindowBytes);
  }
  EXPECT_THAT(Points(), SizeIs(1));
  EXPECT_THAT(Remarks(), Contains(HasSubstr("longer than 1024 MiB")));
  EXPECT_TRUE(shipper_.Done(kRef));
}

TEST_F(MetricShipperTest, SendsCompleteLinesOnce) {
  Add();
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  dir_.Append(kFile, "{\"step\":1,\"loss\":0.5,\"acc\":0.9}\n{\"step\":2,");
  Pump();
  Pump();
  ASSERT_THAT(sent_, SizeIs(1));
  ASSERT_THAT(Points(), SizeIs(2));
  EXPECT_EQ(Points()[0].key, "loss");
  EXPECT_EQ(Points()[1].key, "acc");
  EXPECT_EQ(EndOffset(), 32);
  dir_.Append(kFile, "\"loss\":0.4}\n");
  Pump();
  ASSERT_THAT(Points(), SizeIs(3));
  EXPECT_EQ(Points()[2].step, 2);
}

TEST_F(MetricShipperTest, APieceTellsOfTheCheckpointThatALineOfItTellsOf) {
  Add();
  const auto told = [&](const std::string& line) {
    dir_.Append(kFile, line);
    Pump();
    return std::get<protocol::MetricData>(sent_.back()).checkpoint_saved;
  };
  EXPECT_FALSE(told("{\"step\":1,\"loss\":0.5}\n"));
  EXPECT_TRUE(told("{\"step\":2,\"checkpoint_saved\":1}\n{\"step\":2,\"loss\":0.4}\n"));
  EXPECT_FALSE(told("{\"step\":3,\"loss\":0.3}\n"));
  EXPECT_EQ(Points()[1].key, "checkpoint_saved");
}

TEST_F(MetricShipperTest, WhatALineLeavesOutIsItsNumberAndNow) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n{\"a\":2}\n");
  Pump();
  EXPECT_EQ(Points()[1].step, 1);
  EXPECT_EQ(Points()[1].age, absl::ZeroDuration());
}

TEST_F(MetricShipperTest, APointIsAsOldAsItsLineSays) {
  Add();
  dir_.Append(kFile, "{\"a\":1,\"time\":60.5}\n");
  Pump();
  EXPECT_EQ(Points()[0].age, absl::Seconds(39.5));
}

TEST_F(MetricShipperTest, TheFirstBadLineIsToldAndTheOthersAreCounted) {
  Add();
  dir_.Append(kFile, "\n{\"a\":\"text\"}\nnonsense\n{\"a\":1}\n");
  Pump();
  ASSERT_THAT(Points(), SizeIs(1));
  EXPECT_EQ(Points()[0].step, 3);
  EXPECT_EQ(EndOffset(), 31);
  EXPECT_THAT(Remarks(), ElementsAre("line 2 of its metrics file is dropped: column 6: the value "
                                     "of \"a\" is not a number"));
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_THAT(Remarks(), SizeIs(2));
  EXPECT_EQ(Remarks()[1], "2 lines of its metrics file were dropped in all");
}

TEST_F(MetricShipperTest, ARemarkThatMayHaveBeenLostIsMadeAgain) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n");
  Pump();
  dir_.Append(kFile, "nonsense\n");
  Pump();
  EXPECT_THAT(Remarks(), SizeIs(1));
  sent_.clear();
  shipper_.OnConnected();
  shipper_.OnAck({kRef, 0, 8});
  Pump();
  EXPECT_THAT(Remarks(), SizeIs(1));
  sent_.clear();
  shipper_.OnConnected();
  shipper_.OnAck({kRef, 0, 17});
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_THAT(Remarks(), IsEmpty()) << "one bad line, and it was told";
}

TEST_F(MetricShipperTest, WhatIsLostWithAFileThatWasCutIsTold) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n{\"a\":2}\n");
  Pump();
  std::filesystem::resize_file(dir_.File(kFile), 0);
  dir_.Append(kFile, "{\"a\":3}\n");
  Pump();
  EXPECT_THAT(Points(), SizeIs(3));
  EXPECT_THAT(Remarks(), ElementsAre("its metrics file was cut from 16 bytes to 8; it is read from "
                                     "its beginning again"));
  sent_.clear();
  shipper_.OnConnected();
  shipper_.OnAck({kRef, 0, 8});
  Pump();
  EXPECT_THAT(Points(), SizeIs(1));
  EXPECT_THAT(Remarks(), Contains(HasSubstr("8 bytes of it are lost")));
}

TEST_F(MetricShipperTest, ALastLineWithoutItsEndCountsWhenNothingCanFollow) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n{\"a\":2}");
  Pump();
  EXPECT_THAT(Points(), SizeIs(1));
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_THAT(Points(), SizeIs(2));
  EXPECT_EQ(EndOffset(), 15);
}

TEST_F(MetricShipperTest, ALineThatIsTooLongIsDroppedAlone) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n");
  for (int i = 0; i < 3; ++i) dir_.Append(kFile, std::string(MetricsReader::kPieceBytes, 'x'));
  dir_.Append(kFile, "\n{\"a\":2}\n");
  Pump();
  ASSERT_THAT(Points(), SizeIs(2));
  EXPECT_EQ(Points()[1].value, 2);
  EXPECT_EQ(Points()[1].step, 2);
}

TEST_F(MetricShipperTest, WaitsWhenTheWindowIsFull) {
  Add();
  const std::string line = "{\"a\":1}\n";
  std::string many;
  while (many.size() < 4 * MetricShipper::kWindowBytes) many += line;
  dir_.Append(kFile, many);
  Pump();
  EXPECT_LT(EndOffset(), MetricShipper::kWindowBytes + MetricsReader::kPieceBytes);
  const int64_t before = EndOffset();
  Pump();
  EXPECT_EQ(EndOffset(), before);
  shipper_.OnAck({kRef, 0, before});
  Pump();
  EXPECT_GT(EndOffset(), before);
}

TEST_F(MetricShipperTest, AfterAReconnectGoesOnWhereItIsTold) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
  Pump();
  sent_.clear();
  shipper_.OnConnected();
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  shipper_.OnAck({kRef, 0, 16});
  Pump();
  ASSERT_THAT(Points(), SizeIs(1));
  EXPECT_EQ(Points()[0].value, 3);
  EXPECT_EQ(Points()[0].step, 2);
}

// A coordinator that was restored from a backup asks for lines that this worker no longer has.
TEST_F(MetricShipperTest, GoesOnWhereMoreThanAWindowIsLost) {
  Add();
  const std::string line = "{\"a\":1}\n";
  std::string many;
  while (many.size() < 2 * MetricShipper::kWindowBytes) many += line;
  dir_.Append(kFile, many);
  for (int i = 0; i < 20; ++i) {
    Pump();
    shipper_.OnAck({kRef, 0, EndOffset()});
  }
  ASSERT_EQ(EndOffset(), static_cast<int64_t>(many.size()));
  std::filesystem::resize_file(dir_.File(kFile), 0);  // the rank begins its file anew
  dir_.Append(kFile, line);
  Pump();
  sent_.clear();
  shipper_.OnConnected();
  shipper_.OnAck({kRef, 0, 0});
  dir_.Append(kFile, line);
  Pump();
  EXPECT_THAT(Points(), SizeIs(2));
}

TEST_F(MetricShipperTest, IsDoneWhenAllIsAcknowledged) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n");
  Pump();
  shipper_.OnAck({kRef, 0, 8});
  EXPECT_FALSE(shipper_.Done(kRef));
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_TRUE(shipper_.Done(kRef));
  EXPECT_TRUE(Ended());
}

TEST_F(MetricShipperTest, TheEndIsSaidAgainAfterAReconnect) {
  Add();
  dir_.Append(kFile, "{\"a\":1}\n");
  shipper_.OnReturned(kRef);
  Pump();
  shipper_.OnAck({kRef, 0, 8});
  sent_.clear();
  shipper_.OnConnected();
  EXPECT_FALSE(shipper_.Done(kRef));
  shipper_.OnAck({kRef, 0, 8});
  Pump();
  EXPECT_THAT(sent_, SizeIs(1));
  EXPECT_TRUE(Ended());
  EXPECT_TRUE(shipper_.Done(kRef));
}

TEST_F(MetricShipperTest, ARankThatLoggedNothingIsDoneToo) {
  Add();
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_TRUE(shipper_.Done(kRef));
  EXPECT_THAT(sent_, SizeIs(1));
  EXPECT_TRUE(Ended());
}

TEST_F(MetricShipperTest, WhatNobodyCanHaveIsNotBelieved) {
  Add(/*known=*/true);
  shipper_.OnAck({kRef, 0, std::numeric_limits<int64_t>::min()});
  EXPECT_EQ(shipper_.AcknowledgedBytes(kRef), 0);
  dir_.Append(kFile, "{\"loss\":1}\n");
  Pump();
  EXPECT_THAT(Points(), SizeIs(1));
}

TEST_F(MetricShipperTest, ADamagedBeginningIsNone) {
  for (const char* base : {"9223372036854775807", "-1", "x"}) {
    std::filesystem::remove(dir_.File("metrics-0.base"));
    dir_.Append("metrics-0.base", base);
    std::filesystem::remove(dir_.File(kFile));
    dir_.Append(kFile, "{\"loss\":1}\n");
    Add();
    Pump();
    EXPECT_EQ(EndOffset(), 11) << base;
    shipper_.Remove(kRef);
  }
}

}  // namespace
}  // namespace hpc::worker

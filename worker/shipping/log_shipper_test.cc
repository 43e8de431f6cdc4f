#include "worker/shipping/log_shipper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <limits>

#include "protocol/limits.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr AttemptRef kRef{12, 1};
constexpr protocol::StreamId kOut{kRef, 0, false};

class LogShipperTest : public ::testing::Test {
 protected:
  LogShipperTest()
      : shipper_([this](protocol::WorkerMessage m) { sent_.push_back(std::move(m)); }) {}

  void Add(bool known = false) { shipper_.Add(kRef, dir_.path(), {0}, known); }
  void Write(const std::string& text) {
    dir_.Append("rank-0.out", text);
    written_ += static_cast<int64_t>(text.size());
    shipper_.OnOutput(kRef, 0, false, written_, 0, false);
  }
  void Pump() { shipper_.Pump(now_); }
  std::vector<protocol::LogData> Data() const {
    std::vector<protocol::LogData> data;
    for (const protocol::WorkerMessage& m : sent_) {
      if (const auto* one = std::get_if<protocol::LogData>(&m)) data.push_back(*one);
    }
    return data;
  }
  std::vector<protocol::LogEnd> Ends() const {
    std::vector<protocol::LogEnd> ends;
    for (const protocol::WorkerMessage& m : sent_) {
      if (const auto* one = std::get_if<protocol::LogEnd>(&m)) ends.push_back(*one);
    }
    return ends;
  }

  testing::TempDir dir_;
  std::vector<protocol::WorkerMessage> sent_;
  LogShipper shipper_;
  int64_t written_ = 0;
  MonoTime now_;
};

TEST_F(LogShipperTest, SendsWhatIsThereOnce) {
  Add();
  Write("one\n");
  Pump();
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].stream, kOut);
  EXPECT_EQ(Data()[0].offset, 0);
  EXPECT_EQ(Data()[0].data, "one\n");
  Write("two\n");
  Pump();
  EXPECT_EQ(Data()[1].offset, 4);
  EXPECT_EQ(Data()[1].data, "two\n");
}

TEST_F(LogShipperTest, CutsIntoPieces) {
  Add();
  Write(std::string(LogShipper::kPieceBytes, 'x') + "\n");
  Pump();
  ASSERT_THAT(Data(), SizeIs(2));
  EXPECT_EQ(Data()[0].data.size(), static_cast<size_t>(LogShipper::kPieceBytes));
  EXPECT_EQ(Data()[1].data.size(), 1u);
}

TEST_F(LogShipperTest, ALineIsSentWhole) {
  Add();
  Write("cwd");
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  Write(" /tmp\nnext");
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].data, "cwd /tmp\n");
}

TEST_F(LogShipperTest, ALineWhoseEndIsThereIsNotPassedByTheOtherStream) {
  Add();
  Write("before");
  Pump();
  dir_.Append("rank-0.out", "\n");  // not announced yet
  dir_.Append("rank-0.err", "Traceback\n");
  shipper_.OnOutput(kRef, 0, true, 10, 0, false);
  Pump();
  ASSERT_THAT(Data(), SizeIs(2));
  EXPECT_EQ(Data()[0].data, "before\n");
  EXPECT_EQ(Data()[1].data, "Traceback\n");
}

TEST_F(LogShipperTest, AnUnfinishedLineIsSentAfterAMoment) {
  Add();
  Write("Password: ");
  Pump();
  EXPECT_EQ(shipper_.NextDeadline(now_), now_ + LogShipper::kLinePatience);
  now_ = now_ + LogShipper::kLinePatience - absl::Milliseconds(1);
  Write("please");
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  now_ = now_ + absl::Milliseconds(1);
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].data, "Password: please");
  EXPECT_EQ(shipper_.NextDeadline(now_), MonoTime::Infinite());
}

TEST_F(LogShipperTest, NobodyIsWokenForALineThatWaitsForTheWindow) {
  Add();
  Write("hel");
  Pump();
  dir_.Append("rank-0.err", std::string(LogShipper::kWindowBytes, 'x'));
  shipper_.OnOutput(kRef, 0, true, LogShipper::kWindowBytes, 0, false);
  Pump();
  now_ = now_ + LogShipper::kLinePatience;
  sent_.clear();
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(shipper_.NextDeadline(now_), MonoTime::Infinite());
}

TEST_F(LogShipperTest, AStreamsEndDoesNotWaitForALinesEnd) {
  Add();
  Write("no newline");
  Pump();
  shipper_.OnOutput(kRef, 0, false, 10, 0, true);
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].data, "no newline");
  EXPECT_THAT(Ends(), SizeIs(1));
}

TEST_F(LogShipperTest, AfterAReconnectALineIsHeldAnew) {
  Add();
  Write("one\ntw");
  Pump();
  shipper_.OnConnected();
  EXPECT_EQ(shipper_.NextDeadline(now_), MonoTime::Infinite());
  shipper_.OnAck({kOut, 4});
  Pump();
  EXPECT_EQ(shipper_.NextDeadline(now_), now_ + LogShipper::kLinePatience);
}

TEST_F(LogShipperTest, WaitsWhenTheWindowIsFull) {
  Add();
  Write(std::string(LogShipper::kWindowBytes + 5 * LogShipper::kPieceBytes, 'x'));
  Pump();
  ASSERT_THAT(Data(), SizeIs(LogShipper::kWindowBytes / LogShipper::kPieceBytes));
  shipper_.OnAck({kOut, 2 * LogShipper::kPieceBytes});
  sent_.clear();
  Pump();
  EXPECT_THAT(Data(), SizeIs(2));
}

TEST_F(LogShipperTest, OneLoudStreamDoesNotSilenceTheOthers) {
  Add();
  Write(std::string(2 * LogShipper::kWindowBytes, 'x'));
  dir_.Append("rank-0.err", "help\n");
  shipper_.OnOutput(kRef, 0, true, 5, 0, false);
  Pump();
  bool heard = false;
  for (const protocol::LogData& data : Data()) heard = heard || data.stream.is_stderr;
  EXPECT_TRUE(heard);
}

TEST_F(LogShipperTest, SaysTheEndOnceBehindTheLastByte) {
  Add();
  Write("one\n");
  shipper_.OnOutput(kRef, 0, false, 4, 7, true);
  Pump();
  Pump();
  ASSERT_THAT(Ends(), SizeIs(1));
  EXPECT_EQ(Ends()[0].stream, kOut);
  EXPECT_EQ(Ends()[0].cut_bytes, 7);
  EXPECT_TRUE(std::holds_alternative<protocol::LogEnd>(sent_.back()));
}

TEST_F(LogShipperTest, WhatTheCoordinatorMayKnowWaitsForItsWord) {
  Add(/*known=*/true);
  Write("one\ntwo\n");
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  shipper_.OnAck({kOut, 4});
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].offset, 4);
  EXPECT_EQ(Data()[0].data, "two\n");
}

TEST_F(LogShipperTest, AfterAReconnectGoesOnWhereItIsTold) {
  Add();
  Write("one\ntwo\n");
  shipper_.OnOutput(kRef, 0, false, 8, 0, true);
  Pump();
  sent_.clear();
  shipper_.OnConnected();
  Pump();
  EXPECT_THAT(sent_, IsEmpty());
  shipper_.OnAck({kOut, 0});
  Pump();
  EXPECT_EQ(Data()[0].data, "one\ntwo\n");
  EXPECT_THAT(Ends(), SizeIs(1));
}

TEST_F(LogShipperTest, IsDoneWhenAllIsAcknowledged) {
  Add();
  Write("one\n");
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_FALSE(shipper_.Done(kRef));
  shipper_.OnAck({kOut, 3});
  EXPECT_FALSE(shipper_.Done(kRef));
  shipper_.OnAck({kOut, 4});
  EXPECT_TRUE(shipper_.Done(kRef));
  EXPECT_EQ(shipper_.AcknowledgedBytes(kRef), 4);
}

TEST_F(LogShipperTest, WhatWasNotAnnouncedIsFoundWhenAllHaveGone) {
  Add();
  dir_.Append("rank-0.out", "never announced");
  shipper_.OnReturned(kRef);
  Pump();
  EXPECT_EQ(Data()[0].data, "never announced");
}

TEST_F(LogShipperTest, WhatIsRemovedFreesTheWindow) {
  Add();
  Write(std::string(LogShipper::kWindowBytes, 'x'));
  Pump();
  shipper_.Remove(kRef);
  sent_.clear();
  shipper_.Add({13, 1}, dir_.path(), {0}, false);
  shipper_.OnOutput({13, 1}, 0, false, 10, 0, false);
  Pump();
  EXPECT_THAT(Data(), SizeIs(1));
}

TEST_F(LogShipperTest, AFileThatVanishedEndsItsStream) {
  Add();
  shipper_.OnOutput(kRef, 0, false, 10, 0, false);
  shipper_.OnOutput(kRef, 0, true, 0, 0, true);
  Pump();
  EXPECT_THAT(Data(), IsEmpty());
  EXPECT_THAT(Ends(), SizeIs(2));
}

TEST_F(LogShipperTest, WithoutADescriptorItTriesAgainAndLosesNothing) {
  Add();
  Write("one\n");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Pump();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(Data(), IsEmpty());
  EXPECT_THAT(Ends(), IsEmpty());
  EXPECT_EQ(shipper_.NextDeadline(now_), now_ + LogShipper::kDescriptorPatience);
  now_ = now_ + LogShipper::kDescriptorPatience;
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].data, "one\n");
}

TEST_F(LogShipperTest, WhatNobodyCanHaveIsNotBelieved) {
  Add(/*known=*/true);
  shipper_.OnAck({kOut, std::numeric_limits<int64_t>::min()});
  Write("one\n");
  Pump();
  ASSERT_THAT(Data(), SizeIs(1));
  EXPECT_EQ(Data()[0].offset, 0);
  EXPECT_EQ(shipper_.AcknowledgedBytes(kRef), 0);
  shipper_.OnConnected();
  for (const bool is_stderr : {false, true}) {
    shipper_.OnAck({{kRef, 0, is_stderr}, std::numeric_limits<int64_t>::max()});
  }
  EXPECT_EQ(shipper_.AcknowledgedBytes(kRef), 2 * protocol::kMaxOffset);
}

}  // namespace
}  // namespace hpc::worker

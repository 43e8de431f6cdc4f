#include "worker/shipping/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr AttemptRef kRef{12, 1};

class OutputTest : public ::testing::Test {
 protected:
  OutputTest()
      : output_(
            &loop_, [this](protocol::WorkerMessage m) { sent_.push_back(std::move(m)); },
            [this](AttemptRef ref) { dropped_.push_back(ref); }) {
    output_.OnConnected();
    output_.Add(kRef, dir_.path(), dir_.path(), {0}, /*known=*/false);
  }
  void Advance(absl::Duration d) {
    clock_.Advance(d);
    loop_.RunOnce(absl::ZeroDuration());
    output_.Pump();
  }
  // Everything that was sent so far.
  void AckAll() {
    for (const protocol::WorkerMessage& message : sent_) {
      if (const auto* data = std::get_if<protocol::LogData>(&message)) {
        const auto end = data->offset + static_cast<int64_t>(data->data.size());
        output_.OnAck(protocol::LogAck{data->stream, end});
      } else if (const auto* metrics = std::get_if<protocol::MetricData>(&message)) {
        output_.OnAck(protocol::MetricAck{metrics->ref, metrics->rank, metrics->end_offset});
      }
    }
    output_.Pump();
  }
  int Count(bool metrics) const {
    int n = 0;
    for (const protocol::WorkerMessage& message : sent_) {
      n += metrics ? std::holds_alternative<protocol::MetricData>(message)
                   : std::holds_alternative<protocol::LogData>(message);
    }
    return n;
  }
  void WriteOutput(const std::string& text) {
    dir_.Append("rank-0.out", text);
    output_.OnOutput(kRef, {.rank = 0, .bytes = static_cast<int64_t>(text.size())});
  }

  testing::TempDir dir_;
  FakeClock clock_;
  EventLoop loop_{&clock_};
  std::vector<protocol::WorkerMessage> sent_;
  std::vector<AttemptRef> dropped_;
  Output output_;
};

TEST_F(OutputTest, LooksForMetricsFourTimesASecond) {
  Advance(absl::ZeroDuration());
  dir_.Append("metrics-0.jsonl", "{\"a\":1}\n");
  Advance(absl::Milliseconds(249));
  EXPECT_EQ(Count(true), 0);
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(Count(true), 1);
}

TEST_F(OutputTest, APromptIsSeenWithoutTheEndOfItsLine) {
  WriteOutput("Password: ");
  Advance(absl::ZeroDuration());
  EXPECT_EQ(Count(false), 0);
  Advance(LogShipper::kLinePatience);
  EXPECT_EQ(Count(false), 1);
}

TEST_F(OutputTest, SendsNothingWhileDisconnected) {
  output_.OnDisconnected();
  WriteOutput("one\n");
  dir_.Append("metrics-0.jsonl", "{\"a\":1}\n");
  Advance(absl::Seconds(1));
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(OutputTest, MetricsOfTheLastMomentAreSentWithTheReturn) {
  Advance(absl::ZeroDuration());
  dir_.Append("metrics-0.jsonl", "{\"a\":1}\n");
  output_.OnReturned(kRef);
  EXPECT_EQ(Count(true), 1);
}

TEST_F(OutputTest, FilesGoWhenEverythingIsAcknowledged) {
  WriteOutput("one\n");
  output_.OnReturned(kRef);
  output_.DropWhenDone(kRef);
  output_.Pump();
  EXPECT_THAT(dropped_, IsEmpty());
  AckAll();
  EXPECT_THAT(dropped_, ElementsAre(kRef));
}

TEST_F(OutputTest, FilesGoAfterAWhileIfNobodyTakesTheirOutput) {
  WriteOutput("one\n");
  output_.OnReturned(kRef);
  output_.DropWhenDone(kRef);
  Advance(absl::Seconds(29));
  EXPECT_THAT(dropped_, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(dropped_, ElementsAre(kRef));
}

TEST_F(OutputTest, FilesStayWhileTheCoordinatorIsAway) {
  WriteOutput("one\n");
  output_.OnReturned(kRef);
  output_.DropWhenDone(kRef);
  output_.OnDisconnected();
  for (int i = 0; i < 100; ++i) Advance(absl::Seconds(10));
  EXPECT_THAT(dropped_, IsEmpty());
}

TEST_F(OutputTest, AnAttemptWithoutOutputGoesAtOnce) {
  output_.Remove(kRef);
  output_.DropWhenDone(kRef);
  output_.Pump();
  EXPECT_THAT(dropped_, ElementsAre(kRef));
}

TEST_F(OutputTest, AnIdleWorkerDoesNotWakeUp) {
  output_.OnReturned(kRef);
  output_.DropWhenDone(kRef);
  output_.Pump();
  AckAll();
  Advance(absl::Seconds(1));
  sent_.clear();
  dir_.Append("metrics-0.jsonl", "{\"a\":1}\n");
  Advance(absl::Hours(1));
  EXPECT_THAT(sent_, IsEmpty());
}

}  // namespace
}  // namespace hpc::worker

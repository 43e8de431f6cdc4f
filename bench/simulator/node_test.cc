#include "bench/simulator/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hpc::simulator {
namespace {

using ::testing::IsEmpty;

const AttemptRef kRef{7, 1};

// A link that keeps all that is sent.
class FakeLink : public worker::Link {
 public:
  void SetCallbacks(Callbacks) override {}
  void Open(const protocol::Hello& hello) override { hellos.push_back(hello); }
  void Send(const protocol::WorkerMessage& message, int64_t) override { said.push_back(message); }
  void SendHeartbeat(const std::vector<worker::DeviceUsage>& usage, const protocol::Heartbeat& beat,
                     bool) override {
    ++heartbeats;
    last_usage = usage;
    last_doing = beat.doing;
  }
  void SendInventory(const protocol::Inventory&) override {}
  void Flush() override {}
  void Finish() override {}
  void Close() override {}

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const protocol::WorkerMessage& message : said) {
      if (const auto* one = std::get_if<T>(&message)) found.push_back(*one);
    }
    return found;
  }

  std::vector<protocol::Hello> hellos;
  std::vector<protocol::WorkerMessage> said;
  int heartbeats = 0;
  std::vector<worker::DeviceUsage> last_usage;
  std::vector<protocol::RankDoing> last_doing;
};

Traits Pc(int gpus) {
  Traits traits{"pc1", 5, "127.1.0.1", {}, absl::Seconds(3)};
  for (int32_t i = 0; i < gpus; ++i) {
    protocol::Device gpu;
    gpu.index = i;
    gpu.kind = protocol::DeviceKind::kGpu;
    traits.inventory.devices.push_back(gpu);
  }
  return traits;
}

class NodeTest : public ::testing::Test {
 protected:
  void Hear(const protocol::CoordinatorMessage& message) { node_.OnMessage(clock_.Get(), message); }
  void Tick() { node_.Tick(clock_.Get()); }
  // Lets `time` pass, in the steps in which the node itself wants to be woken.
  void Pass(absl::Duration time) {
    const MonoTime end = clock_.Get().mono + time;
    while (node_.NextDeadline() <= end) {
      clock_.Advance(std::max(absl::ZeroDuration(), node_.NextDeadline() - clock_.Get().mono));
      Tick();
    }
    clock_.Advance(end - clock_.Get().mono);
  }
  void Connect() {
    Tick();
    Hear(protocol::Welcome());
  }
  void Prepare(int32_t node_rank = 0) {
    protocol::Prepare prepare;
    prepare.ref = kRef;
    prepare.node_rank = node_rank;
    prepare.first_rank = 4;
    prepare.ranks = 2;
    Hear(prepare);
  }
  void Run() {
    Prepare();
    Hear(protocol::Start{kRef, "127.1.0.1", 29400});
  }

  FakeClock clock_;
  FakeLink link_;
  Node node_{clock_.Get(), Pc(1), &link_};
};

TEST_F(NodeTest, SaysHelloAndThenAHeartbeatAtEachInterval) {
  Connect();
  EXPECT_EQ(link_.hellos.size(), 1);
  EXPECT_TRUE(node_.connected());
  Pass(absl::Seconds(10));
  EXPECT_EQ(link_.heartbeats, 6) << "one at once, and one at each interval";
}

TEST_F(NodeTest, TellsOfItsGpusEveryTenSeconds) {
  Connect();
  Pass(absl::Seconds(1));
  EXPECT_EQ(link_.last_usage.size(), 1);
  Pass(absl::Seconds(8));
  EXPECT_THAT(link_.last_usage, IsEmpty());
  Pass(absl::Seconds(2));
  EXPECT_EQ(link_.last_usage.size(), 1);
}

TEST_F(NodeTest, ConnectsAgainWithTheWorkersBackOff) {
  Connect();
  node_.OnClosed(clock_.Get(), absl::UnavailableError("gone"));
  EXPECT_FALSE(node_.connected());
  Pass(absl::Milliseconds(49));
  EXPECT_EQ(link_.hellos.size(), 1);
  Pass(absl::Milliseconds(51));
  EXPECT_EQ(link_.hellos.size(), 2);
}

TEST_F(NodeTest, OnlyTheFirstNodeOfAGangNamesAStore) {
  Connect();
  Prepare(/*node_rank=*/1);
  ASSERT_EQ(link_.All<protocol::Prepared>().size(), 1);
  EXPECT_EQ(link_.All<protocol::Prepared>()[0].store_addr, "");

  FakeLink link;
  Node first(clock_.Get(), Pc(1), &link);
  first.Tick(clock_.Get());
  first.OnMessage(clock_.Get(), protocol::Welcome());
  protocol::Prepare prepare;
  prepare.ref = kRef;
  prepare.ranks = 1;
  first.OnMessage(clock_.Get(), prepare);
  ASSERT_EQ(link.All<protocol::Prepared>().size(), 1);
  EXPECT_EQ(link.All<protocol::Prepared>()[0].store_addr, "127.1.0.1");
  EXPECT_GT(link.All<protocol::Prepared>()[0].store_port, 0);
}

TEST_F(NodeTest, RanksStartRunForTheirTimeAndExitWithZero) {
  Connect();
  Run();
  ASSERT_EQ(link_.All<protocol::Started>().size(), 1);
  EXPECT_EQ(link_.All<protocol::Started>()[0].ranks.size(), 2);
  Pass(absl::Seconds(2));
  EXPECT_EQ(link_.last_doing.size(), 2);
  EXPECT_THAT(link_.All<protocol::RankEnded>(), IsEmpty());
  Pass(absl::Seconds(1));
  const auto ended = link_.All<protocol::RankEnded>();
  ASSERT_EQ(ended.size(), 2);
  EXPECT_EQ(ended[0].rank, 4);
  EXPECT_EQ(ended[0].exit.exit_code, 0);
  EXPECT_EQ(ended[0].ago.started, absl::Seconds(3));
  EXPECT_EQ(link_.All<protocol::AttemptReturned>().size(), 1);
}

TEST_F(NodeTest, OutputComesWholeAndEnds) {
  Connect();
  Run();
  Pass(absl::Seconds(3));
  const auto lines = link_.All<protocol::LogData>();
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[1].data, "rank 5 of 7.1 on pc1\n");
  EXPECT_EQ(link_.All<protocol::LogEnd>().size(), 4);  // both streams of both ranks
  const auto metrics = link_.All<protocol::MetricData>();
  ASSERT_EQ(metrics.size(), 2);
  EXPECT_TRUE(metrics[0].ended);
  EXPECT_EQ(metrics[0].points.size(), 1);
}

TEST_F(NodeTest, WhatIsNotAcknowledgedIsKeptAndSentAgain) {
  Connect();
  Run();
  Pass(absl::Seconds(3));
  Hear(protocol::Forget{kRef});
  EXPECT_EQ(node_.attempts().size(), 1);
  node_.OnClosed(clock_.Get(), absl::UnavailableError("gone"));
  link_.said.clear();
  Pass(absl::Seconds(1));
  Hear(protocol::Welcome());
  const auto lines = link_.All<protocol::LogData>();
  ASSERT_EQ(lines.size(), 2);
  for (const protocol::LogData& line : lines) {
    Hear(protocol::LogAck{line.stream, static_cast<int64_t>(line.data.size())});
  }
  EXPECT_THAT(node_.attempts(), IsEmpty());
}

TEST_F(NodeTest, AnAttemptThatIsStoppedReturns) {
  Connect();
  Run();
  Hear(protocol::Stop{kRef, absl::Seconds(10), "cancelled"});
  const auto ended = link_.All<protocol::RankEnded>();
  ASSERT_EQ(ended.size(), 2);
  EXPECT_TRUE(ended[0].exit.signal.has_value());
  EXPECT_TRUE(ended[0].exit.after_stop);
  EXPECT_EQ(link_.All<protocol::AttemptReturned>().size(), 1);
}

TEST_F(NodeTest, OneThatIsStoppedBeforeItsStartReturnsWithoutRanks) {
  Connect();
  Prepare();
  Hear(protocol::Stop{kRef, absl::Seconds(10), "cancelled"});
  EXPECT_THAT(link_.All<protocol::RankEnded>(), IsEmpty());
  EXPECT_EQ(link_.All<protocol::AttemptReturned>().size(), 1);
}

}  // namespace
}  // namespace hpc::simulator

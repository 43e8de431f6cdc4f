#include "train/group/rank_watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/watch_message.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Collective kFirst = {1, "barrier 'start'"};
const Collective kSecond = {2, "all_reduce 'sum' of float[3]"};

// The watches of one group, all in this process.
class RankWatchTest : public ::testing::Test {
 protected:
  void Make(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      watches_.push_back(std::make_unique<RankWatch>(rank, "127.0.0.1"));
      endpoints_.push_back(watches_.back()->endpoint());
    }
    for (auto& watch : watches_) {
      watch->Start(endpoints_, "secret", [this] { ++verdicts_; });
      watch->Enter(kFirst);
    }
  }

  std::vector<std::string> endpoints_;
  std::atomic<int> verdicts_ = 0;
  std::vector<std::unique_ptr<RankWatch>> watches_;
};

TEST_F(RankWatchTest, ARankThatDidNotEnterIsNamedToAll) {
  Make(3);
  watches_[0]->Enter(kSecond);
  watches_[1]->Enter(kSecond);
  Verdict verdict = watches_[0]->Investigate({kSecond, true});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_THAT(verdict.reason, HasSubstr("never reached collective 2, all_reduce 'sum'"));
  for (auto& watch : watches_) {
    ASSERT_TRUE(watch->verdict().has_value());
    EXPECT_EQ(watch->verdict()->reason, verdict.reason);
  }
  EXPECT_EQ(verdicts_, 3);
}

TEST_F(RankWatchTest, ARankThatIsGoneIsNamed) {
  Make(3);
  watches_[2].reset();
  EXPECT_THAT(watches_[1]->Investigate({kFirst, false}).missing, ElementsAre(2));
  watches_[1].reset();  // it ends with its error, and the other must not blame it
  EXPECT_THAT(watches_[0]->Investigate({kFirst, false}).missing, ElementsAre(2));
}

TEST_F(RankWatchTest, ARankWhosePortAnswersNothingIsStopped) {
  std::string endpoint;
  UniqueFd mute = Listen("127.0.0.1", &endpoint);
  RankWatch watch(0, "127.0.0.1");
  watch.Start({watch.endpoint(), endpoint}, "secret", [] {});
  Verdict verdict = watch.Investigate({kFirst, true});
  EXPECT_THAT(verdict.missing, ElementsAre(1));
  EXPECT_THAT(verdict.reason, HasSubstr("does not answer at " + endpoint));
}

// Pretends to be a rank to the others, until the descriptor is closed without a bye.
UniqueFd StayAs(int rank, const std::string& with) {
  Connection connection = ConnectWithin(with, std::chrono::seconds(5));
  SendAll(connection.socket.get(), EncodeRequest({"secret", {}, rank}));
  return std::move(connection.socket);
}

TEST_F(RankWatchTest, ARankThatEndsIsKnownWithoutAsking) {
  Make(1);
  UniqueFd peer = StayAs(7, endpoints_[0]);
  usleep(100000);
  EXPECT_FALSE(watches_[0]->verdict().has_value());
  peer.Reset();
  for (int i = 0; i < 100 && !watches_[0]->verdict(); ++i) usleep(50000);
  ASSERT_TRUE(watches_[0]->verdict().has_value());
  EXPECT_THAT(watches_[0]->verdict()->missing, ElementsAre(7));
  EXPECT_THAT(watches_[0]->verdict()->reason, HasSubstr("its process is gone"));
  EXPECT_THAT(watches_[0]->Gone(), ElementsAre(7));
}

TEST_F(RankWatchTest, ARankThatEndedBeforeItWasConnectedIsKnownToo) {
  std::vector<std::string> endpoints(3);
  Listen("127.0.0.1", &endpoints[0]);
  Listen("127.0.0.1", &endpoints[2]);
  RankWatch watch(1, "127.0.0.1");
  endpoints[1] = watch.endpoint();
  std::promise<void> found;
  watch.Start(endpoints, "secret", [&found] { found.set_value(); });
  ASSERT_EQ(found.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(watch.Gone(), UnorderedElementsAre(0, 2));
  EXPECT_THAT(watch.verdict()->missing, ElementsAre(0, 2));
}

TEST_F(RankWatchTest, ARankThatLeavesIsNotDead) {
  Make(3);
  usleep(100000);
  watches_[2].reset();
  usleep(800000);
  EXPECT_FALSE(watches_[0]->verdict().has_value());
  EXPECT_FALSE(watches_[1]->verdict().has_value());
}

TEST_F(RankWatchTest, AnAbortIsEverybodys) {
  Make(2);
  watches_[1]->Declare({.missing = {1}, .reason = "rank 1 aborted: out of memory"});
  EXPECT_EQ(watches_[0]->Investigate({kFirst, false}).reason, "rank 1 aborted: out of memory");
}

TEST_F(RankWatchTest, StrangersThatSayNothingKeepNobodyFromBeingAnswered) {
  Make(2);
  std::vector<Connection> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(ConnectWithin(endpoints_[1], std::chrono::seconds(5)));
    ASSERT_TRUE(strangers.back().socket.ok());
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(watches_[0]->Investigate({kFirst, true}).missing, IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kAnswerTime);
}

TEST_F(RankWatchTest, WhoDoesNotKnowTheSecretIsNotAnswered) {
  Make(1);
  for (const std::string& request :
       {EncodeRequest({"wrong", Verdict{{0}, "lie"}, {}}), EncodeRequest({"wrong", {}, {}}),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string(2 * kMaxWatchLine, 'x')}) {
    Connection connection = ConnectWithin(endpoints_[0], std::chrono::seconds(5));
    ASSERT_TRUE(connection.socket.ok());
    SendAll(connection.socket.get(), request);
    EXPECT_FALSE(ReadLineWithin(connection.socket.get(), std::chrono::seconds(5), 100).text);
  }
  EXPECT_FALSE(watches_[0]->verdict().has_value());
  EXPECT_THAT(watches_[0]->Investigate({kFirst, true}).missing, IsEmpty());
}

}  // namespace
}  // namespace hpc::train

#include "coordinator/core/gangs/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "protocol/worker_message.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;

Member Share(const std::string& node, int first, int ranks, std::vector<int32_t> devices) {
  Member member;
  member.placement.node = node;
  member.placement.address = "10.0.0." + node;
  member.placement.first_rank = first;
  member.placement.ranks = ranks;
  member.placement.devices = std::move(devices);
  return member;
}

TEST(ArrivalTest, IsKnownByAddressAndProcess) {
  Attempt attempt;
  attempt.members = {Share("1", 0, 1, {0}), Share("2", 1, 2, {0})};
  attempt.ranks = MakeRanks(attempt.members);
  attempt.ranks[0].pid = 500;
  attempt.ranks[1].pid = 500;  // on another PC than rank 0
  attempt.ranks[2].pid = 501;
  protocol::RendezvousReport report;
  report.arrivals = {{"10.0.0.2", 500}};
  EXPECT_THAT(ArrivedRanks(attempt, report), ElementsAre(false, true, false));
  report.arrivals = {{"192.168.7.7", 501}, {"192.168.7.7", 500}};
  EXPECT_THAT(ArrivedRanks(attempt, report), ElementsAre(false, false, true))
      << "another address of a PC is fine where the process is the only one of that number";
}

class RendezvousWordsTest : public ::testing::Test {
 protected:
  RendezvousWordsTest() {
    attempt_.members = {Share("pc1", 0, 1, {0}), Share("pc2", 1, 1, {0})};
    attempt_.ranks = MakeRanks(attempt_.members);
    attempt_.ranks[0].pid = 500;
    attempt_.ranks[1].pid = 501;
    attempt_.record.world_size = 2;
    attempt_.record.store_host = protocol::StoreHost::kWorker;
    attempt_.record.state = AttemptState::kRunning;
    attempt_.rendezvous = protocol::RendezvousReport{.arrivals = {{"10.0.0.pc1", 500}}};
  }
  std::string Words() const { return RendezvousWords(attempt_, MonoTime{absl::Seconds(25)}); }

  Attempt attempt_;
};

TEST_F(RendezvousWordsTest, NameWhoHasNotComeAndWhoWaits) {
  EXPECT_EQ(Words(), "rank 1 on pc2 has not reached the rendezvous for 25 s; rank 0 waits");
}

TEST_F(RendezvousWordsTest, NameANodeThatGetsNoAnswerFromRank0s) {
  attempt_.members[1].silence = {.address = "10.0.0.1", .port = 4123, .lasts = absl::Seconds(24)};
  EXPECT_EQ(Words(),
            "rank 1 on pc2 has not reached the rendezvous for 25 s; rank 0 waits; pc2 gets no "
            "answer from pc1 at 10.0.0.1:4123 for 24 s: is there a firewall on pc1?");
  attempt_.members[1].silence->error = "No route to host";
  attempt_.rendezvous->arrivals.clear();
  EXPECT_EQ(
      Words(),
      "no rank has come to the rendezvous for 25 s; only programs that use "
      "torch.distributed do, and none that sets MASTER_ADDR or MASTER_PORT itself (leave "
      "that out: ranks have both); pc2 cannot connect to pc1 at 10.0.0.1:4123 for 24 s (No route "
      "to host): is there a firewall on pc1?");
}

TEST_F(RendezvousWordsTest, SayThatAnotherAccountsProgramWasRefused) {
  attempt_.rendezvous->refusal = {.account = 0, .ranks_account = 999};
  EXPECT_EQ(Words(),
            "rank 1 on pc2 has not reached the rendezvous for 25 s; rank 0 waits; a program of "
            "account 0 (root) on pc1 came to the rendezvous and was refused, since ranks run as "
            "account 999: a container joins with '--user 999'");
}

}  // namespace
}  // namespace hpc::coordinator

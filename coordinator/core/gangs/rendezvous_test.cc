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

}  // namespace
}  // namespace hpc::coordinator

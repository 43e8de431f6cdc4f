// The placement policy: values in, decisions with reasons out.
#include "coordinator/core/policy/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MonoTime After(absl::Duration d) { return {d}; }

protocol::Inventory Gpus(int n) {
  protocol::Inventory inventory;
  inventory.cores = 2;
  for (int i = 0; i < n; ++i) {
    inventory.devices.push_back({i, protocol::DeviceKind::kGpu, "", "", 0, ""});
  }
  return inventory;
}

protocol::Inventory Slots(int n) {
  protocol::Inventory inventory;
  for (int i = 0; i < n; ++i) {
    inventory.devices.push_back({i, protocol::DeviceKind::kCpuSlot, "", "", 0, ""});
  }
  return inventory;
}

RunRequest Request(int min, int max, std::optional<int> gpus = std::nullopt) {
  RunRequest request;
  request.min_nodes = min;
  request.max_nodes = max;
  request.gpus_per_node = gpus;
  request.stop_grace = absl::ZeroDuration();
  return request;
}

// A cluster at time 0 and a queue in front of it.
class PlacementTest : public ::testing::Test {
 protected:
  void Node(const std::string& name, const protocol::Inventory& inventory) {
    input_.nodes.push_back(EmptySpace(name, inventory));
  }
  void Use(size_t node, const std::vector<int32_t>& devices,
           MonoTime until = MonoTime::Infinite()) {
    Take(&input_.nodes[node], devices);
    input_.taken.push_back({node, devices, until});
  }
  void Asleep(size_t node) { input_.nodes[node].awake = false; }
  void Away(size_t node) { input_.nodes[node].usable = false; }
  void Unable(size_t node) { input_.nodes[node].unable = true; }

  // Runs are numbered from 1 in the order of the queue.
  void Queue(const RunRequest& request, const std::vector<std::string>* last = nullptr,
             const std::vector<std::string>* leave_asleep = nullptr) {
    requests_.push_back(request);
    candidates_.push_back(
        {static_cast<RunId>(candidates_.size()) + 1, &requests_.back(), {last, leave_asleep}});
  }

  // "1: pc1[0,1] pc2[0,1]" for each run that starts.
  std::vector<std::string> Starts() {
    result_ = Place(input_, candidates_);
    std::vector<std::string> lines;
    for (const Placed& placed : result_.placed) {
      std::string line = std::to_string(placed.run) + ":";
      for (const NodeShare& share : placed.fit.shares) {
        line += " " + input_.nodes[share.node].name + "[";
        for (size_t i = 0; i < share.devices.size(); ++i) {
          line += (i > 0 ? "," : "") + std::to_string(share.devices[i]);
        }
        line += "]";
        if (share.ranks != static_cast<int32_t>(share.devices.size())) {
          line += "x" + std::to_string(share.ranks);
        }
      }
      lines.push_back(line);
    }
    return lines;
  }
  std::string Reason(size_t i) const { return result_.placed.at(i).fit.reason; }

  PlacementInput input_;
  std::deque<RunRequest> requests_;
  std::vector<Candidate> candidates_;
  PlacementResult result_;
};

// ---------------------------------------------------------------- what a request is given

TEST_F(PlacementTest, ByDefaultEveryGpuOfANodeWithOneRankEach) {
  Node("pc1", Gpus(2));
  Node("pc2", Gpus(2));
  Queue(Request(2, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0,1] pc2[0,1]"));
  EXPECT_EQ(Reason(0), "pc1 and pc2: the only nodes that are free");
}

TEST_F(PlacementTest, NodesThatWereUnableLatelyAreTakenOnlyWhereOthersDoNotSuffice) {
  for (int i = 1; i <= 3; ++i) Node("pc" + std::to_string(i), Slots(1));
  Unable(0);
  const std::vector<std::string> last = {"pc1"};
  Queue(Request(1, 1), &last);
  EXPECT_THAT(Starts(), ElementsAre("1: pc2[0]"));
  EXPECT_THAT(Reason(0), ::testing::EndsWith("; pc1 could not prepare a run lately"));
  Asleep(1);
  Queue(Request(2, 3));
  candidates_.erase(candidates_.begin());
  EXPECT_THAT(Starts(), ElementsAre("2: pc2[0] pc3[0]")) << "rather than be fewer, it wakes one";
  Away(1);
  EXPECT_THAT(Starts(), ElementsAre("2: pc1[0] pc3[0]"));
}

TEST_F(PlacementTest, WithoutGpusOneSlotAndOneRank) {
  Node("pc1", Slots(4));
  Queue(Request(1, 1));
  Queue(Request(1, 1, 0));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0]", "2: pc1[1]"));
}

TEST_F(PlacementTest, RanksPerNodeAreAsAskedFor) {
  Node("pc1", Gpus(2));
  RunRequest request = Request(1, 1);
  request.ranks_per_node = 4;
  Queue(request);
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0,1]x4"));
}

TEST_F(PlacementTest, RunsMayShareANodeButNeverADevice) {
  Node("pc1", Gpus(3));
  Queue(Request(1, 1, 1));
  Queue(Request(1, 1, 2));
  Queue(Request(1, 1, 1));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0]", "2: pc1[1,2]"));
}

TEST_F(PlacementTest, EveryGpuMeansThatNoneIsInUse) {
  Node("pc1", Gpus(2));
  Use(0, {1});
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), IsEmpty());
}

TEST_F(PlacementTest, RunWithoutGpusLeavesThemFreeAndIsLimitedByTheCores) {
  Node("pc1", Gpus(1));
  for (int i = 0; i < 3; ++i) Queue(Request(1, 1, 0));
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[]x1", "2: pc1[]x1", "4: pc1[0]"));
}

TEST_F(PlacementTest, UnevenNodesGiveTheirCommonMinimumAndSayIt) {
  Node("pc1", Gpus(4));
  Node("pc2", Gpus(2));
  Queue(Request(2, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0,1] pc2[0,1]"));
  EXPECT_THAT(Reason(0), HasSubstr("uses 2 GPUs of each, the fewest that one of them has (pc1 has "
                                   "4)"));
}

TEST_F(PlacementTest, NodesThatMatchArePreferredToNodesThatWaste) {
  Node("pc1", Gpus(4));
  Node("pc2", Gpus(2));
  Node("pc3", Gpus(2));
  Node("pc4", Gpus(1));
  Queue(Request(2, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: pc2[0,1] pc3[0,1]"));
}

TEST_F(PlacementTest, DefaultRequestIsNotGivenNodesWithoutGpusWhereEnoughHaveSome) {
  Node("nas", Slots(1));
  Node("pc1", Gpus(1));
  Use(1, {0});
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), IsEmpty()) << "it waits for pc1";
}

TEST_F(PlacementTest, DefaultRequestIsGivenNodesWithoutGpusWhereTheyAreNeeded) {
  Node("nas", Slots(1));
  Node("pc1", Gpus(2));
  Queue(Request(2, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: nas[0] pc1[0]"));
}

TEST_F(PlacementTest, ListAndExclusionAreObeyedAndTheListOrdersRanks) {
  for (const char* name : {"pc1", "pc2", "pc3"}) Node(name, Gpus(1));
  RunRequest listed = Request(2, 2);
  listed.node_list = {"pc3", "pc2"};
  RunRequest excluding = Request(1, 1);
  excluding.exclude = {"pc1"};
  Queue(listed);
  Queue(excluding);
  EXPECT_THAT(Starts(), ElementsAre("1: pc3[0] pc2[0]"));
}

// ------------------------------------------------------------------------ elastic requests

TEST_F(PlacementTest, ElasticRunTakesAsManyNodesAsAreFree) {
  for (const char* name : {"pc1", "pc2", "pc3", "pc4"}) Node(name, Gpus(1));
  Use(0, {0});
  Queue(Request(2, 4));
  EXPECT_THAT(Starts(), ElementsAre("1: pc2[0] pc3[0] pc4[0]"));
}

TEST_F(PlacementTest, ElasticRunTakesNoMoreThanItsMost) {
  for (const char* name : {"pc1", "pc2", "pc3"}) Node(name, Gpus(1));
  Queue(Request(1, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0] pc2[0]"));
}

TEST_F(PlacementTest, ElasticRunWakesNodesOnlyToReachItsLeast) {
  for (const char* name : {"pc1", "pc2", "pc3", "pc4"}) Node(name, Gpus(1));
  for (size_t i : {1, 2, 3}) Asleep(i);
  Queue(Request(2, 4));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0] pc2[0]"));
  EXPECT_THAT(Reason(0), HasSubstr("pc2 must be woken first"));
}

// ----------------------------------------------------------------------------- preferences

TEST_F(PlacementTest, NodesOfTheAttemptBeforeKeepTheirRanks) {
  for (const char* name : {"pc1", "pc2", "pc3", "pc4"}) Node(name, Gpus(1));
  const std::vector<std::string> last = {"pc3", "pc9", "pc2"};
  Queue(Request(3, 3), &last);
  EXPECT_THAT(Starts(), ElementsAre("1: pc3[0] pc1[0] pc2[0]"));
  EXPECT_THAT(Reason(0), HasSubstr("keeps pc3 and pc2 of the attempt before"));
}

TEST_F(PlacementTest, FullestNodeWithRoomIsTakenSoThatLargeGangsKeepRoom) {
  Node("pc1", Gpus(4));
  Node("pc2", Gpus(4));
  Use(1, {0, 1});
  Queue(Request(1, 1, 2));
  EXPECT_THAT(Starts(), ElementsAre("1: pc2[2,3]"));
  EXPECT_EQ(Reason(0),
            "pc2: 1 of 2 free nodes; those with the fewest free devices are taken first, so that "
            "larger runs find room");
}

TEST_F(PlacementTest, NodesThatAreOnArePreferred) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Asleep(0);
  const std::vector<std::string> last = {"pc1"};
  Queue(Request(1, 1), &last);
  EXPECT_THAT(Starts(), ElementsAre("1: pc2[0]"));
}

TEST_F(PlacementTest, RunThatHadToLeaveANodeForItsSleepDoesNotWakeIt) {
  Node("pc1", Gpus(1));
  Asleep(0);
  const std::vector<std::string> leave = {"pc1"};
  Queue(Request(1, 1), nullptr, &leave);
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), ElementsAre("2: pc1[0]"));
}

TEST_F(PlacementTest, NodesThatAreAwayAreNotUsed) {
  Node("pc1", Gpus(1));
  Away(0);
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), IsEmpty());
}

// -------------------------------------------------------------------------------- backfill

TEST_F(PlacementTest, HeadThatCannotStartHoldsItsPlace) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Use(0, {0});
  Queue(Request(2, 2));
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), IsEmpty());
  EXPECT_EQ(result_.holder, 1);
  EXPECT_FALSE(result_.holder_start.has_value()) << "what uses pc1 has no time limit";
}

TEST_F(PlacementTest, RunThatEndsBeforeTheHeadCanStartPasses) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Use(0, {0}, After(absl::Minutes(60)));
  Queue(Request(2, 2));
  RunRequest too_long = Request(1, 1);
  too_long.time_limit = absl::Minutes(61);
  RunRequest shorter = Request(1, 1);
  shorter.time_limit = absl::Minutes(60);
  Queue(too_long);
  Queue(shorter);
  EXPECT_THAT(Starts(), ElementsAre("3: pc2[0]"));
  EXPECT_EQ(result_.holder_start, After(absl::Minutes(60)));
  EXPECT_THAT(Reason(0), HasSubstr("; passes run 1, which needs 2 nodes: ends before that one can "
                                   "start, in 1 h"));
}

TEST_F(PlacementTest, TheGraceOfAStopBelongsToTheTimeLimit) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Use(0, {0}, After(absl::Minutes(60)));
  Queue(Request(2, 2));
  RunRequest late = Request(1, 1);
  late.time_limit = absl::Minutes(60);
  late.stop_grace = absl::Seconds(1);
  Queue(late);
  EXPECT_THAT(Starts(), IsEmpty());
}

TEST_F(PlacementTest, RunOnDevicesThatTheHeadDoesNotNeedPasses) {
  Node("nas", Slots(1));
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Use(1, {0});
  Queue(Request(2, 2));
  Queue(Request(1, 1));
  Queue(Request(1, 1, 0));
  EXPECT_THAT(Starts(), ElementsAre("3: nas[0]"));
  EXPECT_THAT(Reason(0), HasSubstr("passes run 1, which needs 2 nodes: it does not need these "
                                   "devices"));
}

TEST_F(PlacementTest, FreeNodesBeyondWhatTheHeadWillNeedMayBeUsed) {
  // From 1 h on pc1 and pc2 are free, and they suffice; pc3 and pc4 are not needed.
  for (const char* name : {"pc1", "pc2", "pc3"}) Node(name, Gpus(2));
  Use(0, {0, 1}, After(absl::Hours(1)));
  Use(1, {0, 1}, After(absl::Hours(1)));
  Queue(Request(2, 2));
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), ElementsAre("2: pc3[0,1]"));
}

TEST_F(PlacementTest, SurplusDevicesOfAReservedNodeMayBeUsed) {
  Node("pc1", Gpus(4));
  Use(0, {0, 1}, After(absl::Hours(1)));
  Queue(Request(1, 1, 3));
  Queue(Request(1, 1, 2));
  Queue(Request(1, 1, 1));
  EXPECT_THAT(Starts(), ElementsAre("3: pc1[2]"));
}

TEST_F(PlacementTest, SurplusIsGivenAwayOnce) {
  Node("pc1", Gpus(4));
  Use(0, {0, 1}, After(absl::Hours(1)));
  Queue(Request(1, 1, 3));
  Queue(Request(1, 1, 1));
  Queue(Request(1, 1, 1));
  EXPECT_THAT(Starts(), ElementsAre("2: pc1[2]"));
}

TEST_F(PlacementTest, WhenTheHeadsStartIsUnknownWhatItCouldUseIsKept) {
  Node("pc1", Gpus(2));
  Node("pc2", Gpus(2));
  Use(0, {0});
  RunRequest limited = Request(1, 1, 1);
  limited.time_limit = absl::Minutes(1);
  Queue(Request(2, 2));
  Queue(limited);
  EXPECT_THAT(Starts(), IsEmpty());
}

TEST_F(PlacementTest, RunThatNothingRunningStandsInTheWayOfHoldsNoPlace) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Away(1);
  Queue(Request(2, 2));
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), ElementsAre("2: pc1[0]"));
  EXPECT_EQ(result_.holder, 0);
}

TEST_F(PlacementTest, NodeWhoseReturnIsKnownIsWaitedFor) {
  Node("pc1", Gpus(1));
  Node("pc2", Gpus(1));
  Away(1);
  input_.away.push_back({1, After(absl::Hours(2))});
  RunRequest limited = Request(1, 1);
  limited.time_limit = absl::Hours(2);
  Queue(Request(2, 2));
  Queue(Request(1, 1));
  Queue(limited);
  EXPECT_THAT(Starts(), ElementsAre("3: pc1[0]"));
  EXPECT_EQ(result_.holder_start, After(absl::Hours(2)));
}

TEST_F(PlacementTest, OrderOfTheQueueDecidesWhoIsServed) {
  Node("pc1", Gpus(1));
  Queue(Request(1, 1));
  Queue(Request(1, 1));
  EXPECT_THAT(Starts(), ElementsAre("1: pc1[0]"));
  EXPECT_EQ(result_.holder, 2);
}

}  // namespace
}  // namespace hpc::coordinator

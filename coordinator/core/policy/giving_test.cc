#include "coordinator/core/policy/giving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Nodes pc1, pc2 ... with one GPU each, all of them taken.
std::vector<NodeSpace> Taken(int count) {
  std::vector<NodeSpace> nodes;
  for (int i = 1; i <= count; ++i) {
    NodeSpace node;
    node.name = "pc" + std::to_string(i);
    node.gpus = 1;
    nodes.push_back(node);
  }
  return nodes;
}

ElasticGang Gang(RunId run, int32_t min_nodes, const std::vector<size_t>& nodes) {
  ElasticGang gang{.run = run, .min_nodes = min_nodes};
  for (size_t node : nodes) gang.shares.push_back({node, {0}, 1});
  return gang;
}

RunRequest Wants(int32_t nodes) {
  RunRequest request;
  request.min_nodes = request.max_nodes = nodes;
  return request;
}

// As "run 3: pc4 pc3".
std::vector<std::string> Gifts(const std::vector<NodeSpace>& nodes, const RunRequest& waiting,
                               const std::vector<ElasticGang>& gangs) {
  std::vector<std::string> lines;
  for (const Gift& gift : NodesToGive(nodes, waiting, {}, gangs)) {
    std::string& line = lines.emplace_back("run " + std::to_string(gift.run) + ":");
    for (size_t node : gift.nodes) line += " " + nodes[node].name;
  }
  return lines;
}

TEST(GivingTest, AGangGivesItsLastNodesAndNoMoreThanNeeded) {
  const std::vector<ElasticGang> gangs = {Gang(3, 1, {0, 1, 2, 3})};
  EXPECT_THAT(Gifts(Taken(4), Wants(1), gangs), ElementsAre("run 3: pc4"));
  EXPECT_THAT(Gifts(Taken(4), Wants(3), gangs), ElementsAre("run 3: pc4 pc3 pc2"));
}

TEST(GivingTest, AGangKeepsWhatItMustHave) {
  EXPECT_THAT(Gifts(Taken(4), Wants(3), {Gang(3, 2, {0, 1, 2, 3})}), IsEmpty());
  EXPECT_THAT(Gifts(Taken(2), Wants(1), {Gang(3, 2, {0, 1})}), IsEmpty());
}

TEST(GivingTest, WhatIsFreeCounts) {
  std::vector<NodeSpace> nodes = Taken(3);
  nodes[0].free_gpus = {0};
  EXPECT_THAT(Gifts(nodes, Wants(2), {Gang(3, 1, {1, 2})}), ElementsAre("run 3: pc3"));
  EXPECT_THAT(Gifts(nodes, Wants(1), {Gang(3, 1, {1, 2})}), IsEmpty()) << "it starts anyway";
}

TEST(GivingTest, GangsGiveInTheirOrder) {
  const std::vector<ElasticGang> gangs = {Gang(5, 1, {0, 1}), Gang(3, 1, {2, 3, 4})};
  EXPECT_THAT(Gifts(Taken(5), Wants(1), gangs), ElementsAre("run 5: pc2"));
  EXPECT_THAT(Gifts(Taken(5), Wants(3), gangs), ElementsAre("run 5: pc2", "run 3: pc5 pc4"));
}

TEST(GivingTest, NothingIsGivenThatTheRunCannotUse) {
  RunRequest request = Wants(1);
  request.node_list = {"pc1", "pc3"};
  EXPECT_THAT(Gifts(Taken(3), request, {Gang(3, 1, {0, 1, 2})}), ElementsAre("run 3: pc3"));
  std::vector<NodeSpace> nodes = Taken(3);
  nodes[2].usable = false;
  EXPECT_THAT(Gifts(nodes, Wants(1), {Gang(3, 1, {0, 1, 2})}), ElementsAre("run 3: pc2"));
}

// A run that wants both GPUs of a node gets nothing from whoever has one of them.
TEST(GivingTest, WhatIsOfNoUseBesideOthersIsNotGiven) {
  std::vector<NodeSpace> nodes = Taken(2);
  for (NodeSpace& node : nodes) node.gpus = 2;
  ElasticGang both = Gang(3, 1, {0, 1});
  both.shares[1].devices = {0, 1};
  ElasticGang one = Gang(5, 0, {0});
  EXPECT_THAT(Gifts(nodes, Wants(1), {one, both}), ElementsAre("run 3: pc2"));
}

}  // namespace
}  // namespace hpc::coordinator

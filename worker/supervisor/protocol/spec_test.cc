#include "worker/supervisor/protocol/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

SupervisorSpec FullSpec() {
  SupervisorSpec spec;
  spec.name = "12.2";
  spec.dir = "/var/lib/hpc/12.2";
  spec.workdir = "/home/a b";
  spec.ranks.push_back({.rank = 3,
                        .local_rank = 1,
                        .program = "/usr/bin/python3",
                        .argv = {"python3", "", std::string("a\0b\n\xff", 5)},
                        .env = {"A=1", "EMPTY=", "=odd"}});
  spec.ranks.push_back({.rank = -1, .local_rank = 0, .program = "", .argv = {}, .env = {}});
  spec.output_limit_bytes = int64_t{1} << 40;
  spec.default_grace_ms = -5;
  spec.lease_ms = 1;
  spec.cgroup_parent = "/sys/fs/cgroup/hpc";
  spec.cgroup_leaf = "ranks";
  spec.scope = "hpc-12.2-1a2b3c4d-4711.scope";
  return spec;
}

TEST(SpecTest, ASpecComesBackAsItWas) {
  const std::string bytes = Encode(FullSpec());
  const auto spec = DecodeSupervisorSpec(bytes);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "12.2");
  EXPECT_EQ(spec->dir, "/var/lib/hpc/12.2");
  EXPECT_EQ(spec->workdir, "/home/a b");
  ASSERT_EQ(spec->ranks.size(), 2u);
  EXPECT_EQ(spec->ranks[0].rank, 3);
  EXPECT_EQ(spec->ranks[0].local_rank, 1);
  EXPECT_EQ(spec->ranks[0].program, "/usr/bin/python3");
  EXPECT_THAT(spec->ranks[0].argv,
              ::testing::ElementsAre("python3", "", std::string("a\0b\n\xff", 5)));
  EXPECT_THAT(spec->ranks[0].env, ::testing::ElementsAre("A=1", "EMPTY=", "=odd"));
  EXPECT_EQ(spec->ranks[1].rank, -1);
  EXPECT_EQ(spec->output_limit_bytes, int64_t{1} << 40);
  EXPECT_EQ(spec->default_grace_ms, -5);
  EXPECT_EQ(spec->lease_ms, 1);
  EXPECT_EQ(spec->cgroup_parent, "/sys/fs/cgroup/hpc");
  EXPECT_EQ(spec->cgroup_leaf, "ranks");
  EXPECT_EQ(spec->scope, "hpc-12.2-1a2b3c4d-4711.scope");
  EXPECT_EQ(Encode(*spec), bytes);
}

TEST(SpecTest, ASpecOf5000VariablesComesBack) {
  SupervisorSpec spec = FullSpec();
  for (int i = 0; i < 5000; ++i) spec.ranks[0].env.push_back("V" + std::to_string(i) + "=x");
  const auto decoded = DecodeSupervisorSpec(Encode(spec));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->ranks[0].env, spec.ranks[0].env);
}

TEST(SpecTest, NoTruncatedSpecIsAccepted) {
  const std::string bytes = Encode(FullSpec());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeSupervisorSpec(bytes.substr(0, size))) << size << " bytes";
  }
}

TEST(SpecTest, TrailingBytesAreRefused) {
  EXPECT_FALSE(DecodeSupervisorSpec(Encode(FullSpec()) + "x"));
  EXPECT_FALSE(DecodeSupervisorCommand(Encode(SupervisorCommand(ExtendLease{})) + "x"));
}

TEST(SpecTest, ASpecOfAnotherVersionIsRefused) {
  std::string bytes = Encode(FullSpec());
  const size_t version = bytes.find("hpc-spec-") + 9;
  ASSERT_LT(version, bytes.size());
  ++bytes[version];
  EXPECT_FALSE(DecodeSupervisorSpec(bytes));
}

TEST(SpecTest, ACountThatPromisesTooMuchIsRefused) {
  std::string bytes = Encode(SupervisorCommand(StartRanks{}));
  ASSERT_EQ(bytes.size(), 5u);
  for (size_t i = 1; i < 5; ++i) bytes[i] = '\xff';
  EXPECT_FALSE(DecodeSupervisorCommand(bytes));
}

TEST(SpecTest, ABoolIsZeroOrOne) {
  std::string bytes = Encode(SupervisorEvent(OutputGrown{.ended = true}));
  ASSERT_EQ(bytes.back(), 1);
  bytes.back() = 2;
  EXPECT_FALSE(DecodeSupervisorEvent(bytes));
}

TEST(SpecTest, AnUnknownMessageIsRefused) {
  EXPECT_FALSE(DecodeSupervisorCommand(""));
  EXPECT_FALSE(DecodeSupervisorCommand("\x04"));
  EXPECT_FALSE(DecodeSupervisorEvent("\x08"));
  EXPECT_FALSE(DecodeSupervisorEvent("\xff"));
}

// Checks the bytes of a message; each truncation of them is refused.
template <typename Message, typename Decoder>
void ExpectRoundTrip(const Message& message, Decoder decode) {
  const std::string bytes = Encode(message);
  const auto decoded = decode(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->index(), message.index());
  EXPECT_EQ(Encode(*decoded), bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode(bytes.substr(0, size))) << "message " << message.index() << ", " << size;
  }
}

TEST(SpecTest, EveryCommandComesBack) {
  for (const SupervisorCommand& command : std::vector<SupervisorCommand>{
           StartRanks{.env = {"MASTER_ADDR=10.0.0.1", ""}},
           StopRanks{.grace_ms = 30'000, .reason = std::string("a\0\n", 3)}, ExtendLease{},
           ScopeRefused{}, Fence{.at_ns = int64_t{1} << 60}}) {
    ExpectRoundTrip(command, DecodeSupervisorCommand);
  }
}

TEST(SpecTest, EveryEventComesBack) {
  for (const SupervisorEvent& event : std::vector<SupervisorEvent>{
           SupervisorReady{.pid = 12, .containment = "cgroup"},
           RankStarted{.rank = 1, .pid = 99, .at_ns = -1},
           RankStartFailed{.rank = 2, .error = 13, .what = "execve /x/y"},
           RankExited{.rank = 3,
           .wait_status = 256,
           .after_stop = true,
           .at_ns = int64_t{1} << 60,
           .user_us = 1,
           .system_us = 2,
           .max_rss_kb = 3},
           OutputGrown{.rank = 4, .is_stderr = true, .bytes = 1000, .cut_bytes = 5, .ended = false},
           StopBegan{.reason = "lease", .at_ns = 7}, AllGone{.at_ns = 1, .kill_ns = 2, .killed = 3},
           NotGone{.pids = {1, 2, 4'000'000'000}},
           Shortage{.error = 28, .what = "write rank-0.out", .at_ns = 7}}) {
    ExpectRoundTrip(event, DecodeSupervisorEvent);
  }
}

TEST(SpecTest, FieldsOfAnExitKeepTheirPlaces) {
  const auto event = DecodeSupervisorEvent(Encode(SupervisorEvent(RankExited{.rank = 3,
                                                                             .wait_status = 256,
                                                                             .after_stop = true,
                                                                             .at_ns = 4,
                                                                             .user_us = 5,
                                                                             .system_us = 6,
                                                                             .max_rss_kb = 7})));
  ASSERT_TRUE(event);
  const auto& exited = std::get<RankExited>(*event);
  EXPECT_EQ(exited.rank, 3);
  EXPECT_EQ(exited.wait_status, 256);
  EXPECT_TRUE(exited.after_stop);
  EXPECT_EQ(exited.at_ns, 4);
  EXPECT_EQ(exited.user_us, 5);
  EXPECT_EQ(exited.system_us, 6);
  EXPECT_EQ(exited.max_rss_kb, 7);
}

}  // namespace
}  // namespace hpc::worker

#include "coordinator/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <vector>

#include "common/files/files.h"
#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

using ::testing::HasSubstr;

ParsedOptions Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "hpc-coordinator");
  return ParseOptions(static_cast<int>(arguments.size()), arguments.data(),
                      {"/default/state", "/default/socket"});
}

TEST(Options, WithoutAnyTheDefaultsHold) {
  EXPECT_EQ(Parse({}).options.state_dir, "/default/state");
  EXPECT_EQ(Parse({}).options.socket, "/default/socket");
}

TEST(Options, AnotherStateDirectoryHoldsTheSocketToo) {
  EXPECT_EQ(Parse({"--state-dir", "/srv/hpc"}).options.socket, "/srv/hpc/coordinator.sock");
  EXPECT_EQ(Parse({"--state-dir", "/srv/hpc", "--socket", "/s"}).options.socket, "/s");
}

TEST(Options, PathsAreMadeAbsoluteForTheyAreToldToOthers) {
  const std::string here = std::filesystem::current_path();
  const Options options = Parse({"--state-dir", "./o/c"}).options;
  EXPECT_EQ(options.state_dir, here + "/o/c");
  EXPECT_EQ(options.socket, here + "/o/c/coordinator.sock");
  EXPECT_EQ(Parse({"--socket", "s"}).options.socket, here + "/s");
}

TEST(Options, ADescriptorThatIsNotOpenIsRefused) {
  EXPECT_THAT(Parse({"--ready-fd", "99999"}).answer->text, HasSubstr("--ready-fd 99999: no such"));
  EXPECT_FALSE(Parse({"--ready-fd", "1"}).answer.has_value());
}

TEST(Options, PlainTextIsForLoopbackAddressesOnly) {
  const ParsedOptions parsed = Parse({"--listen", "10.0.0.1:7078", "--insecure"});
  ASSERT_TRUE(parsed.answer.has_value());
  EXPECT_TRUE(parsed.answer->error);
  EXPECT_THAT(parsed.answer->text, HasSubstr("cluster init"));
  EXPECT_FALSE(Parse({"--listen", "127.0.0.2:7078", "--insecure"}).answer.has_value());
}

TEST(Options, ARestoreNamesItsFileAndItsStateDirectoryOnEitherSide) {
  EXPECT_EQ(Parse({"restore", "/b.hpc"}).options.restore_from, "/b.hpc");
  EXPECT_EQ(Parse({"restore", "/b.hpc"}).options.state_dir, "/default/state");
  EXPECT_EQ(Parse({"restore", "/b.hpc", "--state-dir", "/srv"}).options.state_dir, "/srv");
  EXPECT_EQ(Parse({"--state-dir", "/srv", "restore", "/b.hpc"}).options.state_dir, "/srv");
  EXPECT_THAT(Parse({"restore"}).answer->text, HasSubstr("FILE is required"));
}

TEST(Options, ListensWhereToldTo) {
  const ParsedOptions parsed = Parse({"--listen", "10.0.0.1:7078"});
  ASSERT_FALSE(parsed.answer.has_value());
  EXPECT_EQ(parsed.options.listen->ToString(), "10.0.0.1:7078");
  EXPECT_FALSE(parsed.options.insecure);
}

TEST(Options, AnAddressThatIsNoneIsRefused) {
  const ParsedOptions parsed = Parse({"--listen", "10.0.0.1:banana", "--insecure"});
  ASSERT_TRUE(parsed.answer.has_value());
  EXPECT_THAT(parsed.answer->text, HasSubstr("10.0.0.1:banana"));
}

TEST(Options, ALeaseMustBeADurationWithinReason) {
  EXPECT_EQ(Parse({"--lease", "10s"}).options.lease, absl::Seconds(10));
  EXPECT_THAT(Parse({"--lease", "banana"}).answer->text, HasSubstr("--lease: 'banana'"));
  EXPECT_THAT(Parse({"--lease", "1h"}).answer->text, HasSubstr("from 0.5s to 10m"));
  EXPECT_EQ(Parse({"--runs-per-user", "50"}).options.runs_per_user, 50);
  EXPECT_THAT(Parse({"--runs-per-user", "0"}).answer->text, HasSubstr("--runs-per-user"));
}

TEST(Options, HowOftenAndHowSoonARunIsStartedAgainCanBeChosen) {
  EXPECT_EQ(Parse({"--restart-backoff", "50ms"}).options.restart_backoff, absl::Milliseconds(50));
  EXPECT_THAT(Parse({"--restart-backoff", "1h"}).answer->text, HasSubstr("--restart-backoff 1h"));
  EXPECT_EQ(Parse({"--loss-retries", "100"}).options.loss_retries, 100);
  EXPECT_THAT(Parse({"--loss-retries", "-1"}).answer->text, HasSubstr("--loss-retries"));
}

TEST(Options, TheReconnectGraceMayBeShort) {
  EXPECT_EQ(Parse({"--last-call", "10s"}).options.last_call, absl::Seconds(10));
  EXPECT_EQ(Parse({"--grow-steady", "2m"}).options.grow_steady, absl::Minutes(2));
  EXPECT_THAT(Parse({"--grow-steady", "1h"}).answer->text, HasSubstr("--grow-steady 1h"));
  EXPECT_EQ(Parse({}).options.reconnect_grace, absl::Seconds(3));
  EXPECT_EQ(Parse({"--reconnect-grace", "0.1s"}).options.reconnect_grace, absl::Milliseconds(100));
  EXPECT_THAT(Parse({"--reconnect-grace", "soon"}).answer->text,
              HasSubstr("--reconnect-grace: 'soon'"));
  EXPECT_THAT(Parse({"--reconnect-grace", "11m"}).answer->text,
              HasSubstr("--reconnect-grace 11m: it must be from 0.1s to 10m"));
}

TEST(Options, AnUnknownOptionIsNamed) {
  EXPECT_THAT(Parse({"--stat-dir", "/x"}).answer->text, HasSubstr("--stat-dir"));
}

TEST(Options, CommandLineWinsOverEnvironmentOverFile) {
  const std::string file = ::testing::TempDir() + "/coordinator.toml";
  ASSERT_OK(
      WriteFileAtomically(file, "lease = \"7s\"\nlog-level = \"debug\"\nstate-dir = \"/f\"\n"));
  setenv("HPC_COORDINATOR_LEASE", "8s", 1);
  setenv("HPC_COORDINATOR_STATE_DIR", "/e", 1);
  const ParsedOptions parsed = Parse({"--config", file.c_str(), "--state-dir", "/c"});
  unsetenv("HPC_COORDINATOR_LEASE");
  unsetenv("HPC_COORDINATOR_STATE_DIR");
  ASSERT_FALSE(parsed.answer.has_value()) << parsed.answer->text;
  EXPECT_EQ(parsed.options.state_dir, "/c");
  EXPECT_EQ(parsed.options.lease, absl::Seconds(8));
  EXPECT_EQ(parsed.options.log_level, LogLevel::kDebug);
}

TEST(Options, HelpIsNoError) {
  const ParsedOptions parsed = Parse({"--help"});
  ASSERT_TRUE(parsed.answer.has_value());
  EXPECT_FALSE(parsed.answer->error);
  EXPECT_THAT(parsed.answer->text, HasSubstr("--wake-hook"));
}

}  // namespace
}  // namespace hpc::coordinator

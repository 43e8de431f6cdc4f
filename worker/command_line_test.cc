#include "worker/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "common/status_matchers.h"
#include "worker/owner_command.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::StatusIs;
using Command = CommandLine::Command;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "hpc-worker");
  return ParseCommandLine(static_cast<int>(words.size()), words.data(),
                          {"/home/ada/.local/state/hpc/worker", "/var/lib/hpc-worker"});
}

// A daemon's command line that is complete except for `more`.
absl::StatusOr<CommandLine> ParseDaemon(std::vector<const char*> more) {
  more.insert(more.begin(), {"--coordinator", "unix:/run/hpc.sock", "--supervisor", "/bin/true",
                             "--name", "pc1"});
  return Parse(more);
}

TEST(CommandLineTest, TheAddressMustBeOneOfThisMachine) {
  for (const char* address : {"nonsense", "localhost", "203.0.113.77", "0.0.0.0", "127.0.0.1:80"}) {
    EXPECT_THAT(ParseDaemon({"--address", address}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--address"), HasSubstr(address), HasSubstr("(lo)"))));
  }
  EXPECT_OK(ParseDaemon({"--address", "127.0.0.9"}));
  EXPECT_THAT(Parse({"join", "hpc1-abc", "--address", "0.0.0.0"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--address: '0.0.0.0'")));
}

TEST(CommandLineTest, ASocketPathThatTheKernelDoesNotTakeIsRefused) {
  const std::string coordinator = "unix:/" + std::string(107, 'x');
  EXPECT_THAT(Parse({"--coordinator", coordinator.c_str(), "--supervisor", "/bin/true"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107")));
}

TEST(CommandLineTest, UsersHaveAccounts) {
  const auto line = ParseDaemon({"--accounts", "anna=anna,*=games", "--accounts", "bob=b"});
  ASSERT_OK(line);
  EXPECT_THAT(line->accounts,
              ElementsAre(Pair("*", "games"), Pair("anna", "anna"), Pair("bob", "b")));
}

TEST(CommandLineTest, RunsFoldersAreKeptForDays) {
  EXPECT_EQ(ParseDaemon({})->keep_run_dirs, 30);
  EXPECT_EQ(ParseDaemon({"--keep-run-dirs", "0"})->keep_run_dirs, 0);
  EXPECT_EQ(ParseDaemon({})->keep_warm, 5);
  EXPECT_EQ(ParseDaemon({"--keep-warm", "0"})->keep_warm, 0);
  EXPECT_THAT(ParseDaemon({"--keep-run-dirs", "-1"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--keep-run-dirs -1")));
}

TEST(CommandLineTest, AccountsAreATableOfTheFile) {
  const std::string path = ::testing::TempDir() + "/worker-accounts.toml";
  std::ofstream(path) << "name = \"pc9\"\n[accounts]\nanna = \"anna\"\n\"*\" = \"games\"\n";
  const auto line = Parse({"--coordinator", "unix:/run/hpc.sock", "--supervisor", "/bin/true",
                           "--config", path.c_str()});
  ASSERT_OK(line);
  EXPECT_EQ(line->name, "pc9");
  EXPECT_THAT(line->accounts, ElementsAre(Pair("*", "games"), Pair("anna", "anna")));
}

TEST(CommandLineTest, AccountsThatMakeNoSenseAreRefused) {
  for (const char* pair : {"anna", "=anna", "anna="}) {
    EXPECT_THAT(ParseDaemon({"--accounts", pair}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not USER=ACCOUNT")));
  }
  EXPECT_THAT(ParseDaemon({"--accounts", "a=b", "--accounts", "a=c"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names 'a' twice")));
}

TEST(CommandLineTest, RanksOfOtherAccountsInheritWhatIsNamed) {
  EXPECT_THAT(ParseDaemon({})->rank_env, IsEmpty());
  EXPECT_THAT(ParseDaemon({"--rank-env", "HF_HOME,NCCL_*", "--rank-env", "*"})->rank_env,
              ElementsAre("HF_HOME", "NCCL_*", "*"));
  EXPECT_THAT(ParseDaemon({"--rank-env", "HF_HOME=/data"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("takes names alone"), HasSubstr("--rank-env HF_HOME"))));
  for (const char* name : {"N*L", "**"}) {
    EXPECT_THAT(ParseDaemon({"--rank-env", name}), StatusIs(absl::StatusCode::kInvalidArgument,
                                                            HasSubstr("is not a variable's name")));
  }
}

TEST(CommandLineTest, TakesEveryOptionOfTheDaemon) {
  const std::string hpc_py = ::testing::TempDir();
  std::ofstream(hpc_py + "/hpc.py") << "";
  const auto line = Parse({"--coordinator",
                           "10.0.0.1:7077",
                           "--state-dir",
                           "/var/x",
                           "--name",
                           "pc7",
                           "--address",
                           "127.0.0.7",
                           "--cpu-slots",
                           "3",
                           "--ready-fd",
                           "2",
                           "--power-command",
                           "true",
                           "--wake-hook-known",
                           "--owner",
                           "anna",
                           "--owner",
                           "bert",
                           "--supervisor",
                           "/bin/true",
                           "--hpc-py",
                           hpc_py.c_str(),
                           "--stop-ranks-on-exit",
                           "--no-reuse",
                           "--log-level",
                           "debug"});
  ASSERT_OK(line);
  EXPECT_EQ(line->command, Command::kDaemon);
  EXPECT_EQ(line->coordinator->ToString(), "10.0.0.1:7077");
  EXPECT_EQ(line->state_dir, "/var/x");
  EXPECT_EQ(line->name, "pc7");
  EXPECT_EQ(line->address, "127.0.0.7");
  EXPECT_EQ(line->cpu_slots, 3);
  EXPECT_EQ(line->ready_fd, 2);
  EXPECT_EQ(line->power_command, "true");
  EXPECT_TRUE(line->wake_hook_known);
  EXPECT_THAT(line->owners, ElementsAre("anna", "bert"));
  EXPECT_TRUE(line->stop_ranks_on_exit);
  EXPECT_TRUE(line->no_reuse);
  EXPECT_EQ(line->hpc_py_dir, hpc_py);
  EXPECT_EQ(line->log_level, LogLevel::kDebug);
}

TEST(CommandLineTest, PlainTextIsForThisMachineOnly) {
  EXPECT_THAT(Parse({"--coordinator", "10.0.0.1:7077", "--insecure"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("10.0.0.1:7077"), HasSubstr("hpc-worker join"))));
  EXPECT_THAT(Parse({"--insecure"}), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("--coordinator 127.0.0.1:7077")));
  EXPECT_OK(Parse({"--coordinator", "127.0.0.1:1", "--insecure", "--supervisor", "/bin/true"}));
  EXPECT_OK(ParseDaemon({}));
}

TEST(CommandLineTest, AMemberNeedsNeitherCoordinatorNorName) {
  const auto line = Parse({"--supervisor", "/bin/true"});
  ASSERT_OK(line);
  EXPECT_FALSE(line->coordinator.has_value());
  EXPECT_EQ(line->name, "");
}

TEST(CommandLineTest, JoiningTakesATokenAndAName) {
  const auto line = Parse({"join", "hpc1-abc", "--name", "pc1", "--state-dir", "/x"});
  ASSERT_OK(line);
  EXPECT_EQ(line->command, Command::kJoin);
  EXPECT_EQ(line->token, "hpc1-abc");
  EXPECT_EQ(line->name, "pc1");
  EXPECT_EQ(line->state_dir, "/x");
}

TEST(CommandLineTest, NamesWhatIsWrong) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> bad = {
      {{"join"}, "TOKEN is required"},
      {{"--coordinator", "unix:/x", "--supervisor", "/no/such"}, "'/no/such' cannot be executed"},
      {{"--coordinator", "unix:/x", "--supervisor", "/bin"}, "'/bin' cannot be executed"},
      {{"--coordinator", "unix:/x", "--supervisor", "/bin/true", "--hpc-py", "/nope"},
       "--hpc-py '/nope': there is no hpc.py in it"},
      {{"--coordinator", "unix:/x", "--cpu-slots", "0"}, "--cpu-slots 0"},
      {{"--coordinator", "unix:/x", "--cpu-slots", "many"}, "many"},
      {{"--coordinator", "unix:/x", "--supervisor", "/bin/true", "--owner", "a b"}, "--owner: "},
      {{"--coordinator", "unix:/x", "--log-level", "loud"}, "--log-level 'loud'"},
      {{"--colour"}, "--colour"},
      {{"staus"}, "did you mean 'status'?"},
      {{"reclaim", "--for", "banana"}, "'banana' is not a duration"},
      {{"reclaim", "--reason", "\xff"}, "not valid UTF-8"},
  };
  for (const auto& [words, message] : bad) {
    EXPECT_THAT(Parse(words), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(CommandLineTest, OwnersCommandsNeedNoCoordinator) {
  const auto line = Parse({"reclaim", "--for", "2h", "--reason", "a game", "--grace", "3s"});
  ASSERT_OK(line);
  EXPECT_EQ(line->command, Command::kReclaim);
  EXPECT_EQ(line->reclaim_for, absl::Hours(2));
  EXPECT_EQ(line->grace, absl::Seconds(3));
  EXPECT_EQ(line->reason, "a game");
  EXPECT_EQ(Parse({"lend"})->command, Command::kLend);
  EXPECT_EQ(Parse({"status"})->command, Command::kStatus);
}

TEST(CommandLineTest, TheStateDirectoryMayStandBehindTheCommand) {
  EXPECT_EQ(Parse({"lend", "--state-dir", "/x"})->state_dir, "/x");
  EXPECT_EQ(Parse({"--state-dir", "/x", "lend"})->state_dir, "/x");
  EXPECT_THAT(Parse({"--state-dir", "/x", "lend"})->more_state_dirs, IsEmpty());
}

TEST(CommandLineTest, HelpOfACommandNamesTheOptionsThatItTakes) {
  for (const char* command : {"join", "reclaim", "lend", "status"}) {
    EXPECT_THAT(Parse({command, "--help"}),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("--state-dir")));
  }
  EXPECT_THAT(Parse({"join", "--help"}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("--name")));
}

TEST(CommandLineTest, WhatIsTypedWinsOverTheEnvironment) {
  setenv("HPC_WORKER_STATE_DIR", "/from-env", 1);
  EXPECT_EQ(Parse({"lend"})->state_dir, "/from-env");
  EXPECT_EQ(Parse({"lend", "--state-dir", "/x"})->state_dir, "/x");
  EXPECT_EQ(Parse({"--state-dir", "/x", "lend"})->state_dir, "/x");
  unsetenv("HPC_WORKER_STATE_DIR");
}

TEST(CommandLineTest, WithoutAStateDirectoryItIsTheUsersAndItsOwnerAsksRootsAsWell) {
  EXPECT_EQ(ParseDaemon({})->state_dir, "/home/ada/.local/state/hpc/worker");
  EXPECT_EQ(Parse({"lend"})->state_dir, "/home/ada/.local/state/hpc/worker");
  EXPECT_THAT(Parse({"lend"})->more_state_dirs, ElementsAre("/var/lib/hpc-worker"));
  EXPECT_THAT(Parse({"--help"}), StatusIs(absl::StatusCode::kCancelled,
                                          HasSubstr("default: /home/ada/.local/state/hpc/worker")));
}

TEST(CommandLineTest, HelpAndVersionAreNoErrors) {
  EXPECT_THAT(Parse({"--help"}), StatusIs(absl::StatusCode::kCancelled,
                                          AllOf(HasSubstr("--coordinator"), HasSubstr("reclaim"))));
  EXPECT_THAT(
      Parse({"reclaim", "--help"}),
      StatusIs(absl::StatusCode::kCancelled,
               AllOf(HasSubstr("Usage: hpc-worker reclaim [OPTIONS]"), HasSubstr("--grace"))));
  EXPECT_THAT(Parse({"--version"}),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("hpc-worker ")));
}

TEST(CommandLineTest, CommandLineWinsOverEnvironmentOverFile) {
  char path[] = "/tmp/hpc-worker-test-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "cpu-slots = 2\naddress = \"127.0.0.2\"\npower-command = \"from file\"\n";
  setenv("HPC_WORKER_CPU_SLOTS", "3", 1);
  setenv("HPC_WORKER_ADDRESS", "127.0.0.3", 1);
  const auto line = ParseDaemon({"--config", path, "--cpu-slots", "4"});
  unsetenv("HPC_WORKER_CPU_SLOTS");
  unsetenv("HPC_WORKER_ADDRESS");
  unlink(path);
  ASSERT_OK(line);
  EXPECT_EQ(line->cpu_slots, 4);
  EXPECT_EQ(line->address, "127.0.0.3");
  EXPECT_EQ(line->power_command, "from file");
}

TEST(CommandLineTest, OwnersAreAListInAFileAndInTheEnvironmentToo) {
  char path[] = "/tmp/hpc-worker-test-XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "owner = [\"anna\", \"bert\"]\n";
  const auto from_file = ParseDaemon({"--config", path});
  unlink(path);
  ASSERT_OK(from_file);
  EXPECT_THAT(from_file->owners, ElementsAre("anna", "bert"));
  setenv("HPC_WORKER_OWNER", "carla,dora", 1);
  const auto from_environment = ParseDaemon({});
  unsetenv("HPC_WORKER_OWNER");
  ASSERT_OK(from_environment);
  EXPECT_THAT(from_environment->owners, ElementsAre("carla", "dora"));
}

TEST(OwnerCommandTest, PutsTheAnswerIntoWords) {
  EXPECT_EQ(
      *DescribeAnswer(R"({"ok":true,"node":"pc1","coordinator":"10.0.0.1:7077","connected":true,)"
                      R"("problem":"","reclaimed":true,"reason":"a game","left_ms":7200000,)"
                      R"("took_ms":1500,"attempts":[]})"),
      "free after 1.5 s\n"
      "pc1 is yours for another 2 h: a game\n"
      "connected to the coordinator at 10.0.0.1:7077\n");
  EXPECT_EQ(
      *DescribeAnswer(R"({"ok":true,"node":"pc1","coordinator":"10.0.0.1:7077","connected":false,)"
                      R"("problem":"refused","reclaimed":false,"reason":"","attempts":)"
                      R"([{"attempt":"12.1","phase":"running","ranks":2,"devices":[0,1]}]})"),
      "pc1 is lent to the cluster\n"
      "not connected to the coordinator at 10.0.0.1:7077: refused\n"
      "attempt 12.1 is running: 2 ranks, devices 0, 1\n");
}

TEST(OwnerCommandTest, AWishThatIsNotSavedYetIsSaidToBe) {
  EXPECT_EQ(
      *DescribeAnswer(R"({"ok":true,"node":"pc1","coordinator":"10.0.0.1:7077","connected":true,)"
                      R"("problem":"","reclaimed":true,"reason":"","took_ms":2000,"saved":false,)"
                      R"("attempts":[]})"),
      "free after 2 s\n"
      "pc1 is yours until you lend it (hpc-worker lend)\n"
      "not saved yet, the disk does not take it: a restart of the worker would forget this\n"
      "connected to the coordinator at 10.0.0.1:7077\n");
}

TEST(OwnerCommandTest, NothingOfTheAnswerMovesTheCursor) {
  EXPECT_EQ(
      *DescribeAnswer(R"({"ok":true,"node":"pc1","coordinator":"10.0.0.1:7077","connected":false,)"
                      R"("problem":"no\nroute","reclaimed":true,"reason":"a\u001b[2Jgame",)"
                      R"("attempts":[]})"),
      "pc1 is yours until you lend it (hpc-worker lend): a [2Jgame\n"
      "not connected to the coordinator at 10.0.0.1:7077: no route\n");
}

TEST(OwnerCommandTest, AnErrorIsTheWorkersOwn) {
  EXPECT_THAT(DescribeAnswer(R"({"ok":false,"error":"the words"})"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "the words"));
  EXPECT_THAT(DescribeAnswer("{}"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("{}")));
  EXPECT_THAT(DescribeAnswer(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not understood")));
}

}  // namespace
}  // namespace hpc::worker

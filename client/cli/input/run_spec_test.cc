#include "client/cli/input/run_spec.h"

#include <gtest/gtest.h>

#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Caller Somebody() {
  return {.workdir = "/home/ada/work",
          .host = "laptop",
          .environment = {{"HOME", "/home/ada"}, {"PWD", "/x"}, {"LANG", "C"}, {"BAD", "\xff"}}};
}

// Returns what `hpcctl run WORDS...` asks the coordinator for.
absl::StatusOr<v1::RunSpec> SpecOf(const std::vector<std::string>& words) {
  RunOptions run;
  Options options("run", "run it");
  DeclareRunOptions(&options, &run);
  options.Program(&run.command);
  options.Example("hpcctl run -- true");
  const absl::Status status = options.Parse(words);
  if (!status.ok()) return status;
  return BuildSpec(run, Somebody());
}

std::string ErrorOf(std::vector<std::string> words) {
  words.insert(words.end(), {"--", "true"});
  const absl::Status status = SpecOf(words).status();
  EXPECT_TRUE(IsUsageError(status)) << status;
  return std::string(status.message());
}

std::vector<std::string> Env(const v1::RunSpec& spec) {
  std::vector<std::string> all;
  for (const v1::KeyValue& entry : spec.env()) all.push_back(entry.key() + "=" + entry.value());
  return all;
}

TEST(RunSpecTest, WhatIsNotTypedIsLeftToTheCoordinator) {
  const auto spec = SpecOf({"--", "python", "train.py", "--lr", "0.1"});
  ASSERT_OK(spec);
  v1::RunSpec expected;
  for (const char* word : {"python", "train.py", "--lr", "0.1"}) expected.add_command(word);
  expected.set_workdir("/home/ada/work");
  expected.set_umask(022);
  expected.set_submit_host("laptop");
  EXPECT_EQ(spec->SerializeAsString(), expected.SerializeAsString());
}

TEST(RunSpecTest, EveryOptionReachesTheSpec) {
  const auto spec = SpecOf({"-N2:4",
                            "--grow",
                            "now",
                            "--ranks-per-node",
                            "2",
                            "--gpus-per-node=0",
                            "--nodelist",
                            "pc1,pc2,pc3",
                            "--exclude",
                            "pc9",
                            "--mode",
                            "slurm",
                            "--store",
                            "rank0",
                            "--name",
                            "first",
                            "--experiment",
                            "lr",
                            "--param",
                            "lr=0.1",
                            "--param",
                            "note=a=b",
                            "--tag",
                            "t",
                            "--priority",
                            "-5",
                            "--after",
                            "11",
                            "--time-limit",
                            "2h",
                            "--max-restarts",
                            "3",
                            "--retry-exit",
                            "75",
                            "--retry-exit=137",
                            "--retry-exit=75",
                            "--stop-grace",
                            "500ms",
                            "--workdir",
                            "sub",
                            "--legacy-local-rank=underscore",
                            "--",
                            "x"});
  ASSERT_OK(spec);
  EXPECT_EQ(spec->min_nodes(), 2);
  EXPECT_EQ(spec->max_nodes(), 4);
  EXPECT_EQ(spec->ranks_per_node(), 2);
  EXPECT_TRUE(spec->has_gpus_per_node());
  EXPECT_EQ(spec->gpus_per_node(), 0);
  EXPECT_THAT(spec->node_list(), ElementsAre("pc1", "pc2", "pc3"));
  EXPECT_THAT(spec->exclude(), ElementsAre("pc9"));
  EXPECT_EQ(spec->mode(), v1::LAUNCH_MODE_SLURM);
  EXPECT_EQ(spec->store_host(), v1::STORE_HOST_RANK0);
  EXPECT_EQ(spec->grow(), v1::GROW_MODE_NOW);
  EXPECT_EQ(spec->name(), "first");
  EXPECT_EQ(spec->experiment(), "lr");
  EXPECT_EQ(spec->params(1).key(), "note");
  EXPECT_EQ(spec->params(1).value(), "a=b");
  EXPECT_THAT(spec->tags(), ElementsAre("t"));
  EXPECT_EQ(spec->priority(), -5);
  EXPECT_EQ(spec->after_run(), 11);
  EXPECT_EQ(spec->time_limit_ms(), 7'200'000);
  EXPECT_EQ(spec->max_restarts(), 3);
  EXPECT_THAT(spec->retry_exits(), ElementsAre(75, 137));
  EXPECT_EQ(spec->stop_grace_ms(), 500);
  EXPECT_EQ(spec->workdir(), "/home/ada/work/sub");
  EXPECT_EQ(spec->legacy_local_rank(), v1::LEGACY_LOCAL_RANK_UNDERSCORE);
}

TEST(RunSpecTest, RanksGetTheUmaskOfTheCallerUnlessAnotherIsTyped) {
  Caller caller;
  caller.workdir = "/";
  caller.umask = 027;
  RunOptions run;
  run.command = {"x"};
  EXPECT_EQ(BuildSpec(run, caller)->umask(), 027);
  EXPECT_EQ(SpecOf({"--umask", "0002", "--", "x"})->umask(), 002);
  EXPECT_EQ(SpecOf({"--umask", "0", "--", "x"})->umask(), 0);
  for (const char* bad : {"", "8", "1777", "u=rw", "-1", "00022", "77777777777777777777"}) {
    EXPECT_THAT(ErrorOf({"--umask", bad}), HasSubstr("is not a umask: give its octal digits"));
  }
}

TEST(RunSpecTest, VariablesAreSetOrCopied) {
  const auto spec = SpecOf({"--env", "A=b=c", "--env", "LANG", "--env", "EMPTY=", "--", "x"});
  ASSERT_OK(spec);
  EXPECT_THAT(Env(*spec), ElementsAre("A=b=c", "LANG=C", "EMPTY="));
}

TEST(RunSpecTest, SecretsAreCopiedAndMarked) {
  const auto spec = SpecOf({"--env", "A=b", "--env-secret", "LANG", "--", "x"});
  ASSERT_OK(spec);
  EXPECT_THAT(Env(*spec), ElementsAre("A=b", "LANG=C"));
  EXPECT_THAT(spec->unstored_env(), ElementsAre("LANG"));
}

TEST(RunSpecTest, ASecretIsNotWrittenOnTheCommandLine) {
  EXPECT_EQ(ErrorOf({"--env-secret", "HF_TOKEN=hf_123"}),
            "--env-secret takes no value, which everybody on this PC could read in the list of "
            "processes: set HF_TOKEN in this shell and say --env-secret HF_TOKEN.");
  EXPECT_THAT(ErrorOf({"--env-secret", "HF_TOKEN"}), HasSubstr("set it first"));
}

TEST(RunSpecTest, AllVariablesAreCopiedButTheShellsOwnAndWhatIsNoText) {
  const auto spec = SpecOf({"--env-all", "--env", "LANG=de", "--", "x"});
  ASSERT_OK(spec);
  EXPECT_THAT(Env(*spec), ElementsAre("HOME=/home/ada", "LANG=de"));
}

TEST(RunSpecTest, NumbersOfNodesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(ErrorOf({"-N", "3:2"}),
            "-N 3:2 asks for at least 3 and at most 2 nodes: a range goes from fewest to most, as "
            "in -N 2:3.");
  for (const char* nodes : {"", "0", "many", "-1", "0:2", ":", "2:", "1:2:3", "99999999999"}) {
    EXPECT_THAT(ErrorOf({"--nodes", nodes}), HasSubstr(nodes));
    EXPECT_THAT(ErrorOf({"--nodes", nodes}), HasSubstr("(-N 4) or a range"));
  }
}

TEST(RunSpecTest, ExitCodesThatAreNoneAreRefused) {
  for (const char* code : {"", "0", "256", "-1", "SIGKILL", "75x"}) {
    EXPECT_THAT(ErrorOf({"--retry-exit", code}), HasSubstr("from 1 to 255"));
  }
}

TEST(RunSpecTest, ContradictionsAreRefused) {
  EXPECT_EQ(ErrorOf({"--nodelist", "pc1,pc2", "--exclude", "pc2"}),
            "--nodelist and --exclude both name pc2: leave it out of one of them.");
  EXPECT_EQ(ErrorOf({"-N", "3", "--nodelist", "pc1,pc2,pc2"}),
            "-N 3 asks for more nodes than --nodelist names (2): name more or ask for fewer.");
  EXPECT_EQ(ErrorOf({"--param", "a=1", "--param", "a=2"}),
            "--param a is given twice; keys are unique.");
}

TEST(RunSpecTest, BadTextIsNamed) {
  EXPECT_EQ(ErrorOf({"--name", "a\xff"}), "--name is not valid UTF-8 (byte 0xff at 1).");
  EXPECT_THAT(ErrorOf({"--experiment", "a\nb"}), HasSubstr("--experiment contains a control"));
  EXPECT_THAT(ErrorOf({"--tag", ""}), HasSubstr("--tag is empty"));
  EXPECT_THAT(ErrorOf({"--param", "k=\xc3"}),
              HasSubstr("the value of --param k is not valid UTF-8"));
  EXPECT_THAT(ErrorOf({"--param", "=1"}), HasSubstr("the key of a --param is empty"));
  EXPECT_EQ(ErrorOf({"--param", "lr"}),
            "--param 'lr' has no value: write it as key=value, as in --param lr=0.1.");
  EXPECT_THAT(ErrorOf({"--nodelist", "pc1,,pc2"}), HasSubstr("'' is not a node name"));
  EXPECT_THAT(ErrorOf({"--env", "=x"}), HasSubstr("no name before the '='"));
  EXPECT_EQ(ErrorOf({"--env", "NOPE"}),
            "--env NOPE copies a variable that is not set here: set it, or give its value as --env "
            "NOPE=VALUE.");
}

TEST(RunSpecTest, BadArgumentsOfTheProgramAreNamed) {
  EXPECT_EQ(SpecOf({"--", "x", "ok", "\xe9t\xe9"}).status().message(),
            "argument 2 of the command is not valid UTF-8 (byte 0xe9 at 0).");
  EXPECT_EQ(SpecOf({"--", ""}).status().message(), "there is no command to run.");
  EXPECT_THAT(std::string(SpecOf({"--", "x", std::string(11 << 20, 'a')}).status().message()),
              HasSubstr("are 11 MiB; at most 10 MB are allowed"));
}

TEST(RunSpecTest, ALostDirectoryIsExplained) {
  RunOptions run;
  run.command = {"true"};
  EXPECT_THAT(std::string(BuildSpec(run, {}).status().message()),
              HasSubstr("this directory does not exist any more"));
  run.spec.set_workdir("/srv");
  EXPECT_OK(BuildSpec(run, {}));
}

}  // namespace
}  // namespace hpc::client

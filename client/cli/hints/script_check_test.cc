#include "client/cli/hints/script_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::RunSpec OnNodes(int min_nodes, int max_nodes, const std::vector<std::string>& command) {
  v1::RunSpec run;
  run.set_min_nodes(min_nodes);
  run.set_max_nodes(max_nodes);
  for (const std::string& word : command) run.add_command(word);
  return run;
}

std::string PipeHintOf(const std::string& text) {
  return PipeHint(OnNodes(1, 1, {"bash", "x.sh"}), text);
}

TEST(ScriptCheckTest, APipeIntoTeeThatHidesAFailureIsHintedAt) {
  EXPECT_THAT(PipeHintOf("cd /data\npython train.py 2>&1 | tee log.txt\n"),
              StartsWith("the '| tee' in x.sh hides the exit code"));
  EXPECT_THAT(PipeHintOf("torchrun train.py |& tee -a log.txt\n"), HasSubstr("pipefail"));
  EXPECT_THAT(PipeHint(OnNodes(1, 1, {"bash", "-c", "python train.py | tee log"}), ""),
              StartsWith("the '| tee' in the command"));
}

TEST(ScriptCheckTest, TheTrainingMayStandAnywhereInFrontOfTee) {
  for (const char* text :
       {"cat a | python train.py | tee log\n", "python train.py 2>&1 | grep -v W | tee log\n",
        "FOO=1 ./train.py | tee log\n", "cd /data && python -m train | tee log\n",
        "x=$(python train.py | tee log)\n"}) {
    EXPECT_NE(PipeHintOf(text), "") << text;
  }
}

TEST(ScriptCheckTest, OtherPipesAreNotHintedAt) {
  for (const char* text :
       {"set -eo pipefail\npython train.py | tee log.txt\n",
        "python train.py | tee log.txt\nexit ${PIPESTATUS[0]}\n",
        "date | tee begin.txt\npython train.py\n", "python train.py || tee log.txt\n",
        "# python train.py | tee log.txt\npython train.py\n",
        "echo start # never python x.py | tee log\n", "echo \"python x.py | tee y\"\n",
        "which python | tee -a log; exec python train.py\n", "python --version | tee log\n",
        "python train.py; echo done | tee log\n", "cat train.py | wc | tee log\n",
        "#!/usr/bin/env fish\npython train.py | tee log\n", "python train.py | grep tee\n"}) {
    EXPECT_EQ(PipeHintOf(text), "") << text;
  }
  EXPECT_EQ(PipeHint(OnNodes(1, 1, {"bash", "-o", "pipefail", "-c", "python x.py | tee log"}), ""),
            "");
  EXPECT_EQ(PipeHint(OnNodes(1, 1, {"python", "x.py"}), "python x.py | tee y"), "");
}

TEST(ScriptCheckTest, ProgramsThatFollowEachOtherAreSeen) {
  const auto in_turn = [](const std::string& text) {
    return StartsProgramsInTurn(OnNodes(2, 2, {"bash", "x.sh"}), text);
  };
  EXPECT_TRUE(in_turn("python train.py\npython eval.py\n"));
  EXPECT_TRUE(in_turn("set -e; FOO=1 python train.py && nice python -m evaluate\n"));
  EXPECT_FALSE(in_turn("cd /data\npython train.py\necho python eval.py\n"));
  std::string words;
  for (int i = 0; i < 200'000; ++i) words += "env ";
  EXPECT_FALSE(in_turn(words + "python train.py"));
}

std::string TrainerHintOf(const std::string& script, int min_nodes = 2, int max_nodes = 2) {
  return TrainerHint(OnNodes(min_nodes, max_nodes, {"python", "fit.py"}), script);
}

TEST(ScriptCheckTest, ATrainerThatIsNotToldTheNumberOfNodesIsHintedAt) {
  const std::string script = "import lightning as L\ntrainer = L.Trainer(max_epochs=2)\n";
  EXPECT_THAT(TrainerHintOf(script),
              HasSubstr("the Trainer in fit.py is not told how many nodes there are, and takes one "
                        "for granted: give it num_nodes=2"));
  EXPECT_THAT(TrainerHintOf("from pytorch_lightning import Trainer\nTrainer(devices=2)\n"),
              HasSubstr("num_nodes=2"));
  EXPECT_THAT(TrainerHintOf(script, 2, 4),
              HasSubstr("num_nodes=int(os.environ['GROUP_WORLD_SIZE'])"));
  v1::RunSpec slurm = OnNodes(2, 4, {"python", "fit.py"});
  slurm.set_mode(v1::LAUNCH_MODE_SLURM);
  EXPECT_THAT(TrainerHint(slurm, script), HasSubstr("num_nodes=int(os.environ['SLURM_NNODES'])"));
}

TEST(ScriptCheckTest, OtherTrainersAreNotHintedAt) {
  const std::string lightning = "import lightning as L\n";
  EXPECT_EQ(TrainerHintOf(lightning + "L.Trainer()\n", 1, 1), "");
  for (const std::string& script :
       {lightning + "L.Trainer(num_nodes=2)\n", lightning + "L.Trainer(**config)\n",
        lightning + "class MyTrainer():\n  pass\nMyTrainer()\n", lightning + "# L.Trainer()\n",
        std::string("from transformers import Trainer\nTrainer(model)\n"),
        std::string("from lightning_utilities.core import x\nfrom transformers import Trainer\n"
                    "Trainer(model)\n")}) {
    EXPECT_EQ(TrainerHintOf(script), "") << script;
  }
}

}  // namespace
}  // namespace hpc::client

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

TEST(ScriptCheckTest, OtherPipesAreNotHintedAt) {
  EXPECT_EQ(PipeHintOf("set -eo pipefail\npython train.py | tee log.txt\n"), "");
  EXPECT_EQ(PipeHintOf("python train.py | tee log.txt\nexit ${PIPESTATUS[0]}\n"), "");
  EXPECT_EQ(PipeHintOf("date | tee begin.txt\npython train.py\n"), "");
  EXPECT_EQ(PipeHintOf("python train.py || tee log.txt\n"), "");
  EXPECT_EQ(PipeHintOf("# python train.py | tee log.txt\npython train.py\n"), "");
  EXPECT_EQ(PipeHint(OnNodes(1, 1, {"bash", "-o", "pipefail", "-c", "python x.py | tee log"}), ""),
            "");
  EXPECT_EQ(PipeHint(OnNodes(1, 1, {"python", "x.py"}), "python x | tee y"), "");
}

TEST(ScriptCheckTest, ATrainerThatIsNotToldTheNumberOfNodesIsHintedAt) {
  const std::string script = "import lightning as L\ntrainer = L.Trainer(max_epochs=2)\n";
  EXPECT_THAT(TrainerHint(OnNodes(2, 2, {"python", "fit.py"}), script),
              HasSubstr("the Trainer in fit.py is not told how many nodes there are, and takes one "
                        "for granted: give it num_nodes=2"));
  EXPECT_THAT(TrainerHint(OnNodes(2, 4, {"python", "fit.py"}), script),
              HasSubstr("num_nodes=int(os.environ['GROUP_WORLD_SIZE'])"));
  EXPECT_EQ(TrainerHint(OnNodes(1, 1, {"python", "fit.py"}), script), "");
  EXPECT_EQ(TrainerHint(OnNodes(2, 2, {"python", "fit.py"}), script + "# num_nodes"), "");
  EXPECT_EQ(TrainerHint(OnNodes(2, 2, {"python", "fit.py"}),
                        "from transformers import Trainer\nTrainer(model)\n"),
            "");
}

}  // namespace
}  // namespace hpc::client

#include "client/cli/input/foreign_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

TEST(ForeignWordsTest, OptionsForSlurmInAScriptAreNotReadInSilence) {
  EXPECT_EQ(SlurmLinesHint("./sb.sh", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -t 10\npython x\n"),
            "the #SBATCH lines in ./sb.sh are not read (--nodes=2 and -t 10): give 'hpcctl run' "
            "options of its own in front of '--', as -N 2");
  EXPECT_EQ(SlurmLinesHint("./sb.sh", "#!/bin/bash\n# SBATCH\n"), "");
  const std::string array =
      SlurmLinesHint("./sb.sh", "#SBATCH --nodes=2   # as the Trainer\n#SBATCH --array=0-3\n");
  EXPECT_THAT(array, ::testing::HasSubstr("(--nodes=2 and --array=0-3)"));
  EXPECT_THAT(array, ::testing::HasSubstr("this is one run, and 'hpcctl submit' queues"));
}

}  // namespace
}  // namespace hpc::client

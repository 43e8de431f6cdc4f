#include "client/cli/input/foreign_words.h"

#include <gtest/gtest.h>

namespace hpc::client {
namespace {

TEST(ForeignWordsTest, OptionsForSlurmInAScriptAreNotReadInSilence) {
  EXPECT_EQ(SlurmLinesHint("./sb.sh", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -t 10\npython x\n"),
            "the #SBATCH lines in ./sb.sh are not read (--nodes=2 and -t 10): give 'hpcctl run' "
            "options of its own in front of '--', as -N 2");
  EXPECT_EQ(SlurmLinesHint("./sb.sh", "#!/bin/bash\n# SBATCH\n"), "");
}

}  // namespace
}  // namespace hpc::client

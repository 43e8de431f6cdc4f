#include "client/cli/input/shell_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

using ::testing::ElementsAre;

TEST(ShellLinesTest, CommentsAreLeftOutAndALineMayGoOnInTheNext) {
  EXPECT_THAT(ShellLines("#!/bin/sh\n  # torchrun\ntorchrun \\\n  x.py\necho '#'"),
              ElementsAre("torchrun    x.py", "echo '#'"));
}

TEST(ShellLinesTest, AHereDocumentIsLeftOutAndAShiftBeginsNone) {
  EXPECT_THAT(ShellLines("cat <<-'EOF' >x\nsrun a\nEOF\nb"), ElementsAre("cat <<-'EOF' >x", "b"));
  EXPECT_THAT(ShellLines("N=$((1<<20))\ncat <<< word\nb"),
              ElementsAre("N=$((1<<20))", "cat <<< word", "b"));
}

TEST(ShellCommandsTest, WordsOfTheShellAssignmentsAndFilesAreLeftOut) {
  EXPECT_THAT(ShellCommands("if a 'b c'; then D=1 e >log 2>&1 | f; fi"),
              ElementsAre(ElementsAre("a"), ElementsAre("e"), ElementsAre("f")));
  EXPECT_THAT(ShellPipes("a x | b && c"),
              ElementsAre(ElementsAre(ElementsAre("a", "x"), ElementsAre("b")),
                          ElementsAre(ElementsAre("c"))));
  EXPECT_THAT(ShellPipes("(a; b) | c"),
              ElementsAre(ElementsAre(ElementsAre("a")), ElementsAre(ElementsAre("b")),
                          ElementsAre(ElementsAre(), ElementsAre("c"))));
}

}  // namespace
}  // namespace hpc::client

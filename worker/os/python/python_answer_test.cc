#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/os/python/python_facts.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ParsePythonAnswer, ReadsFactsAndWhatToWatch) {
  PythonAnswer answer = ParsePythonAnswer(
      "hpc-worker\tfact\tpython\t3.11.2\n"
      "hpc-worker\twatch\t/venv/site-packages\n"
      "hpc-worker\tfact\ttorch\t2.13.0+cu128\n"
      "hpc-worker\tfact\tcuda\t12.8\n"
      "hpc-worker\tstore-client\tyes\n");
  EXPECT_THAT(answer.facts.facts, ElementsAre(Pair("python", "3.11.2"),
                                              Pair("torch", "2.13.0+cu128"), Pair("cuda", "12.8")));
  EXPECT_TRUE(answer.facts.has_torch);
  EXPECT_TRUE(answer.facts.store_client_ok);
  EXPECT_THAT(answer.watched, ElementsAre("/venv/site-packages"));
}

TEST(ParsePythonAnswer, KnowsATorchThatCannotBeAClient) {
  EXPECT_FALSE(ParsePythonAnswer("hpc-worker\tfact\ttorch\t2.6.0+debian\n"
                                 "hpc-worker\tstore-client\tno\n")
                   .facts.store_client_ok);
}

TEST(ParsePythonAnswer, SkipsWhatTheScriptDidNotSay) {
  PythonAnswer answer = ParsePythonAnswer(
      "a warning of sitecustomize\n\nfact\ttorch\t1\nhpc-worker\thpc-worker\tfact\tx\n"
      "hpc-worker\nhpc-worker\tfact\n");
  EXPECT_THAT(answer.facts.facts, IsEmpty());
  EXPECT_FALSE(answer.facts.has_torch);
  EXPECT_TRUE(answer.facts.store_client_ok);
}

}  // namespace
}  // namespace hpc::worker

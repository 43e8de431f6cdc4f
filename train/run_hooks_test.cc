#include "train/run_hooks.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

TEST(RunHooks, AreReadFromTheEnvironmentAndNoneIsNeeded) {
  const RunHooks none = ReadRunHooks([](const char*) -> const char* { return nullptr; });
  EXPECT_EQ(none.metrics_file + none.checkpoint_dir + none.params_file + none.run, "");
  const std::map<std::string, std::string> environment = {
      {"HPC_METRICS_FILE", "/m"}, {"HPC_CHECKPOINT_DIR", "/c"}, {"HPC_RUN_ID", "17"}};
  const RunHooks some = ReadRunHooks([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  EXPECT_EQ(some.metrics_file, "/m");
  EXPECT_EQ(some.checkpoint_dir, "/c");
  EXPECT_EQ(some.run, "17");
}

TEST(Metrics, ALineIsWhatPythonsHelperWrites) {
  EXPECT_EQ(MetricLine(12.5, 10, {{"loss", 0.25}, {"lr/head", 1}}),
            "{\"time\": 12.5, \"loss\": 0.25, \"lr/head\": 1, \"step\": 10}\n");
  EXPECT_EQ(MetricLine(0, std::nullopt, {{"a\"b\n", NAN}, {"b", INFINITY}, {"time", 3}}),
            "{\"time\": 0, \"a\\\"b\\u000a\": NaN, \"b\": Infinity}\n");
}

TEST(Metrics, AreAppended) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/metrics.", getpid());
  Metrics(path).Log(1, {{"loss", 2}});
  Metrics(path).CheckpointSaved(5);
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  unlink(path.c_str());
  EXPECT_THAT(first, MatchesRegex("\\{\"time\": [0-9.e+]+, \"loss\": 2, \"step\": 1\\}"));
  EXPECT_THAT(second, EndsWith("\"checkpoint_saved\": 1, \"step\": 5}"));
  Metrics("").Log(1, {{"loss", 2}});
  Metrics("/nowhere/metrics").Log(1, {{"loss", 2}});  // this must not end a training
}

TEST(StopSignals, ARequestIsNotedAndTheSecondEndsTheProcess) {
  {
    StopSignals signals;
    EXPECT_FALSE(signals.requested());
    raise(SIGTERM);
    EXPECT_TRUE(signals.requested());
  }
  EXPECT_FALSE(StopSignals().requested()) << "another one knows nothing of it";
  EXPECT_EXIT(
      {
        StopSignals signals;
        raise(SIGTERM);
        raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace hpc::train

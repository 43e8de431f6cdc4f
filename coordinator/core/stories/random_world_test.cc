// Thousands of small accidents happen in a random order. Nothing may be in two places, and every
// run must end once it has nothing left to wait for.
#include "coordinator/core/testing/random_world.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace hpc::coordinator::testing {
namespace {

// HPC_SEED=17 runs only that seed; HPC_SEEDS=100000 runs that many.
int FromEnv(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::stoi(value);
}

TEST(RandomWorldTest, NothingIsInTwoPlacesAndEveryRunEnds) {
  const int first = FromEnv("HPC_SEED", 1);
  const int last = FromEnv("HPC_SEED", FromEnv("HPC_SEEDS", 60));
  for (int seed = first; seed <= last; ++seed) {
    RandomWorld world(static_cast<uint32_t>(seed), 2 + seed % 4);
    for (int i = 0; i < 300 && world.violation().empty(); ++i) world.Step();
    if (world.violation().empty()) world.Heal();
    ASSERT_EQ(world.violation(), "") << "seed " << seed << "\n" << world.Trace();
  }
}

}  // namespace
}  // namespace hpc::coordinator::testing

#include "worker/owner/owner_keeper.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>

#include "common/clock.h"
#include "worker/owner/owner_file.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using Outcome = OwnerKeeper::Outcome;

OwnerState Taken(const std::string& reason) { return {.reclaimed = true, .reason = reason}; }

class OwnerKeeperTest : public ::testing::Test {
 protected:
  void RunUntilDecided(const OwnerKeeper& keeper) {
    for (int i = 0; i < 1000 && keeper.outcome() == Outcome::kSaving; ++i) {
      loop_.RunOnce(absl::Milliseconds(20));
    }
  }
  RealClock clock_;
  EventLoop loop_{&clock_};
  hpc::testing::TempDir dir_;
  Background disk_{&loop_};
};

TEST_F(OwnerKeeperTest, TheNewestWishIsWrittenOnceTheDiskLetsIt) {
  auto gate = std::make_shared<std::promise<void>>();
  disk_.Run([gate] { gate->get_future().wait(); }, [] {});
  OwnerKeeper keeper(&disk_, dir_.path());
  EXPECT_EQ(keeper.outcome(), Outcome::kSaved);
  for (const char* reason : {"first", "second", "third"}) keeper.Save(Taken(reason));
  EXPECT_EQ(keeper.outcome(), Outcome::kSaving);
  gate->set_value();
  RunUntilDecided(keeper);
  EXPECT_EQ(keeper.outcome(), Outcome::kSaved);
  EXPECT_EQ(ReadOwnerFile(dir_.path())->reason, "third");
}

TEST_F(OwnerKeeperTest, ADiskThatRefusesIsNotWaitedFor) {
  OwnerKeeper keeper(&disk_, dir_.path() + "/nowhere");
  keeper.Save(Taken("a game"));
  RunUntilDecided(keeper);
  EXPECT_EQ(keeper.outcome(), Outcome::kRefused);
}

}  // namespace
}  // namespace hpc::worker

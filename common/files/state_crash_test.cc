// The machine may stop after any file operation. Afterwards a file is the old or the new one, and a
// daemon that was just starting for the first time can start again.
#include <gtest/gtest.h>

#include <string>

#include "common/files/files.h"
#include "common/files/state_dir.h"
#include "common/status_matchers.h"
#include "tests/testing/disk/power_cut.h"
#include "tests/testing/disk/scratch.h"

namespace hpc {
namespace {

using testing::ForEachPowerCut;
using testing::PowerCut;
using testing::RecordedFolder;
using testing::Recording;
using testing::Scratch;

TEST(StateCrashTest, AFileIsTheOldOneOrTheNewOneWhole) {
  const Scratch scratch;
  const std::string longer(3000, 'x');
  RecordedFolder folder(scratch.folder());
  const std::string path = scratch.folder() + "/file";
  ASSERT_OK(WriteFileAtomically(path, "old"));
  const size_t old_at = folder.done();
  ASSERT_OK(WriteFileAtomically(path, longer));
  const size_t new_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 20, .parent = scratch.parent()},
                  [&](const PowerCut& cut) {
                    const std::string found = ReadFile(cut.folder + "/file").value_or("none");
                    if (cut.done >= new_at) {
                      EXPECT_EQ(found, longer);
                    } else if (cut.done >= old_at) {
                      EXPECT_TRUE(found == "old" || found == longer) << found;
                    } else {
                      EXPECT_TRUE(found == "old" || found == "none") << found;
                    }
                  });
}

TEST(StateCrashTest, AStateDirectoryThatWasBeingMadeIsOursAfterwards) {
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  const std::string path = scratch.folder() + "/deep/state";
  ASSERT_OK(StateDir::Open(path, "worker"));
  const size_t made_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 20, .parent = scratch.parent()},
                  [&](const PowerCut& cut) {
                    const std::string left = cut.folder + "/deep/state";
                    if (cut.done >= made_at) {
                      EXPECT_OK(ReadFile(left + "/hpc-state"));
                    }
                    EXPECT_OK(StateDir::Open(left, "worker"));
                  });
}

}  // namespace
}  // namespace hpc

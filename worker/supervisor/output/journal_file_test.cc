#include "worker/supervisor/output/journal_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "worker/supervisor/protocol/journal_line.h"

namespace hpc::worker {
namespace {

void FillDisk(const std::string& dir) {
  const UniqueFd filler(open((dir + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string page(4096, 'x');
  while (write(filler.get(), page.data(), page.size()) > 0) {
  }
}

TEST(JournalFileTest, AFullDiskCostsNoRankItsEnd) {
  constexpr int32_t kRanks = 400;
  std::string dir = "/tmp/hpc-journal-XXXXXX";
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  if (mount("tmpfs", dir.c_str(), "tmpfs", 0, "size=512k") != 0) {
    rmdir(dir.c_str());
    GTEST_SKIP() << "may not mount";
  }
  {
    JournalFile journal;
    journal.Adopt(
        UniqueFd(open((dir + "/journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        kRanks);
    FillDisk(dir);
    constexpr int64_t kLate = 1'000'000'000'000'000;
    for (int32_t rank = 0; rank < kRanks; ++rank) {
      journal.Add(JournalLine(RankStarted{.rank = rank, .pid = 4'194'303, .at_ns = kLate}) + "\n");
      journal.Add(JournalLine(RankExited{.rank = rank,
                                         .wait_status = 15,
                                         .after_stop = true,
                                         .at_ns = kLate,
                                         .user_us = kLate,
                                         .system_us = kLate,
                                         .max_rss_kb = 1 << 30}) +
                  "\n");
    }
    EXPECT_TRUE(journal.Write());
  }
  EXPECT_EQ(umount2(dir.c_str(), MNT_DETACH), 0);
  rmdir(dir.c_str());
}

}  // namespace
}  // namespace hpc::worker

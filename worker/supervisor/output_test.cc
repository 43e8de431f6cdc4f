// What ranks write, from their pipes to their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::testing::SizeIs;

TEST(OutputTest, StdoutAndStderrAreKeptApart) {
  AttemptRig rig;
  rig.AddShell("echo one; echo two >&2; echo three");
  rig.AddShell("echo of another rank");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "one\nthree\n");
  EXPECT_EQ(rig.FileOf("rank-0.err"), "two\n");
  EXPECT_EQ(rig.FileOf("rank-1.out"), "of another rank\n");
  for (const int rank : {0, 1}) {
    for (const bool is_stderr : {false, true}) {
      const OutputGrown last = rig.LastOutput(rank, is_stderr);
      const std::string file = "rank-" + std::to_string(rank) + (is_stderr ? ".err" : ".out");
      EXPECT_TRUE(last.ended) << file;
      EXPECT_EQ(last.bytes, static_cast<int64_t>(rig.FileOf(file).size())) << file;
      EXPECT_EQ(last.cut_bytes, 0) << file;
    }
  }
}

TEST(OutputTest, WhatIsToldIsInTheFile) {
  AttemptRig rig;
  rig.AddShell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done");
  rig.Spawn();
  rig.Start();
  const auto told_is_there = [&] {
    EXPECT_LE(rig.LastOutput(0).bytes, static_cast<int64_t>(rig.FileOf("rank-0.out").size()));
    return rig.Saw<AllGone>();
  };
  rig.RunUntil("AllGone", told_is_there);
  const std::string text = rig.FileOf("rank-0.out");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2000);
}

TEST(OutputTest, BeyondTheLimitBytesAreCountedAndTheRankGoesOn) {
  AttemptRig rig;
  rig.spec.output_limit_bytes = 1000;
  rig.AddShell("head -c 5000000 /dev/zero; echo end >&2");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.ExitOf(0).wait_status, 0);
  EXPECT_EQ(rig.LastOutput(0).bytes, 1000);
  EXPECT_EQ(rig.LastOutput(0).cut_bytes, 4'999'000);
  EXPECT_THAT(rig.FileOf("rank-0.out"), SizeIs(1000));
  EXPECT_EQ(rig.FileOf("rank-0.err"), "end\n");
}

TEST(OutputTest, ACutIsKnownFromTheJournalToo) {
  AttemptRig rig;
  rig.spec.output_limit_bytes = 10;
  rig.AddShell("printf 'twelve bytes'");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const auto journal = ReadJournal(rig.spec.dir);
  ASSERT_OK(journal);
  int found = 0;
  for (const SupervisorEvent& event : *journal) {
    const auto* output = std::get_if<OutputGrown>(&event);
    if (output == nullptr || output->is_stderr) continue;
    ++found;
    EXPECT_EQ(output->bytes, 10);
    EXPECT_EQ(output->cut_bytes, 2);
    EXPECT_TRUE(output->ended);
  }
  EXPECT_EQ(found, 1);
}

TEST(OutputTest, NothingOfAFloodIsLost) {
  constexpr int64_t kBytes = 256 << 20;
  AttemptRig rig;
  rig.AddShell("head -c " + std::to_string(kBytes) + " /dev/zero");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  struct stat info;
  ASSERT_EQ(stat((rig.spec.dir + "/rank-0.out").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, kBytes);
  EXPECT_EQ(rig.LastOutput(0).bytes, kBytes);
  EXPECT_EQ(rig.LastOutput(0).cut_bytes, 0);
  const int64_t took_ns = rig.ExitOf(0).at_ns - rig.All<RankStarted>()[0].at_ns;
  std::printf("%.0f MB/s to the file\n", static_cast<double>(kBytes) * 1e3 / took_ns);
}

TEST(OutputTest, WhatARankPutsInItsPlaceHoldsNobodyUp) {
  AttemptRig rig;
  rig.AddShell(
      "cd $(dirname $HPC_METRICS_FILE) && mkfifo rank-0.out && ln -s /dev/full rank-0.err; "
      "echo out; echo err >&2; exit 4");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 4);
  EXPECT_EQ(rig.LastOutput(0).bytes, 0);
  EXPECT_EQ(rig.LastOutput(0).cut_bytes, 4);
  EXPECT_EQ(rig.LastOutput(0, true).cut_bytes, 4);
}

TEST(OutputTest, GrowthIsToldAtMostEvery20Milliseconds) {
  AttemptRig rig;
  rig.AddShell("i=0; while [ $i -lt 20000 ]; do echo line; i=$((i+1)); done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const int64_t took_ms = (rig.ExitOf(0).at_ns - rig.All<RankStarted>()[0].at_ns) / 1'000'000;
  // There may be one more report at each end, and one for the end of stderr.
  EXPECT_LE(static_cast<int64_t>(rig.All<OutputGrown>().size()), took_ms / 20 + 4);
}

TEST(OutputTest, APipeHeldByAnotherProcessDoesNotKeepTheAttempt) {
  AttemptRig rig;
  rig.AddShell("sleep 1000 & echo started");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_TRUE(rig.LastOutput(0).ended);
  EXPECT_EQ(rig.FileOf("rank-0.out"), "started\n");
}

TEST(OutputTest, OnAFullDiskARankGoesOnAndItsExitIsKept) {
  AttemptRig rig;
  ASSERT_OK(MakeDirs(rig.spec.dir, 0700));
  if (mount("tmpfs", rig.spec.dir.c_str(), "tmpfs", 0, "size=128k,mode=700") != 0) {
    GTEST_SKIP() << "may not mount";
  }
  rig.AddShell("head -c 3000000 /dev/zero; exit 5");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 5);
  const OutputGrown last = rig.LastOutput(0);
  EXPECT_GT(last.cut_bytes, 2'000'000);
  EXPECT_EQ(rig.All<Shortage>().at(0).error, ENOSPC);
  EXPECT_EQ(last.bytes + last.cut_bytes, 3'000'000);
  EXPECT_EQ(static_cast<int64_t>(rig.FileOf("rank-0.out").size()), last.bytes);
  const auto journal = ReadJournal(rig.spec.dir);
  ASSERT_OK(journal);
  EXPECT_TRUE(std::holds_alternative<AllGone>(journal->back()));
  rig.client.reset();
  EXPECT_EQ(umount2(rig.spec.dir.c_str(), MNT_DETACH), 0);
}

TEST(OutputTest, WhatAFullDiskCostIsMarkedAtItsPlace) {
  AttemptRig rig;
  ASSERT_OK(MakeDirs(rig.spec.dir, 0700));
  if (mount("tmpfs", rig.spec.dir.c_str(), "tmpfs", 0, "size=128k,mode=700") != 0) {
    GTEST_SKIP() << "may not mount";
  }
  const std::string go_on = rig.spec.workdir + "/go_on";
  rig.AddShell("head -c 200000 /dev/zero | tr '\\0' x; while ! test -e " + go_on +
               "; do sleep 0.01; done; echo; echo behind it");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("all of it, or its cut",
               [&] { return rig.LastOutput(0).bytes + rig.LastOutput(0).cut_bytes == 200'000; });
  const OutputGrown full = rig.LastOutput(0);
  ASSERT_GT(full.cut_bytes, 0);
  ASSERT_EQ(mount("", rig.spec.dir.c_str(), "", MS_REMOUNT, "size=1m"), 0);
  ASSERT_OK(WriteFileAtomically(go_on, ""));
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out").substr(full.bytes),
            "\n[hpcctl: " + std::to_string(full.cut_bytes) +
                " bytes of output are missing here: the disk of this PC was full]\n\nbehind it\n");
  EXPECT_EQ(rig.LastOutput(0).bytes, static_cast<int64_t>(rig.FileOf("rank-0.out").size()));
  EXPECT_EQ(rig.LastOutput(0).cut_bytes, full.cut_bytes);
  rig.client.reset();
  EXPECT_EQ(umount2(rig.spec.dir.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace hpc::worker

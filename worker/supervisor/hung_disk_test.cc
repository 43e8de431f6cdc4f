// A supervisor whose disk hangs: whoever writes to it is stuck. A journal that is a full pipe
// stands for such a disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "tests/testing/disk/freezing_disk.h"
#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/spawn.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;

class HungDiskTest : public ::testing::Test {
 protected:
  ~HungDiskTest() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
  }

  // The disk takes the first `room` bytes of the journal, and then nothing until Read is called.
  void SpawnWithRoomFor(int64_t room) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    disk_.Reset(ends[0]);
    UniqueFd journal(ends[1]);
    const int size = fcntl(journal.get(), F_SETPIPE_SZ, 4096);
    ASSERT_GT(size, room);
    const std::string filler(static_cast<size_t>(size - room), '\n');
    ASSERT_EQ(write(journal.get(), filler.data(), filler.size()), size - room);
    ASSERT_OK(MakeDirs(rig_.spec.dir, 0700));
    const std::string listener_path = rig_.spec.workdir + "/listener";
    const auto listener = BindSocket(listener_path);
    ASSERT_OK(listener);
    ASSERT_OK(ShowSocket(listener_path, rig_.spec.dir));
    spawned_ = rig_.SpawnWith(journal.get(), listener->get());
    pid_ = static_cast<pid_t>(spawned_.pid);
    rig_.RunUntil("it to listen", [&] { return HasSupervisor(rig_.spec.dir); });
    rig_.Attach();
  }
  // Makes the disk work again. Returns what was written to it so far.
  std::string Read() {
    fcntl(disk_.get(), F_SETFL, O_NONBLOCK);
    char buffer[8192];
    ssize_t n;
    while ((n = read(disk_.get(), buffer, sizeof buffer)) > 0) written_.append(buffer, n);
    return written_;
  }

  AttemptRig rig_;
  SpawnedSupervisor spawned_;
  pid_t pid_ = -1;
  UniqueFd disk_;
  std::string written_;
};

TEST_F(HungDiskTest, RanksAreStoppedWithinTheirGraceAndTheEndIsTold) {
  rig_.AddShell("exec sleep 1000");
  SpawnWithRoomFor(1);
  rig_.Start();
  rig_.RunUntil("the start", [&] { return rig_.Saw<RankStarted>(); });
  rig_.Send(StopRanks{.grace_ms = 100, .reason = "reclaimed"});
  rig_.RunUntilAllGone();
  EXPECT_EQ(rig_.All<StopBegan>()[0].reason, "reclaimed");
  EXPECT_TRUE(WIFSIGNALED(rig_.ExitOf(0).wait_status));
  // Killing took far less time than passed until anybody was told.
  EXPECT_LT(rig_.All<AllGone>()[0].kill_ns, 5000 * kMs);
  rig_.RunUntil("its end", [&] { return kill(pid_, 0) != 0; });
  pid_ = -1;
}

TEST_F(HungDiskTest, BeyondAFenceNoRankLives) {
  rig_.AddShell("exec sleep 1000");
  SpawnWithRoomFor(1);
  rig_.Start();
  rig_.RunUntil("the start", [&] { return rig_.Saw<RankStarted>(); });
  const int64_t fence = BootTimeNs() + 200 * kMs;
  rig_.Send(Fence{.at_ns = fence});
  rig_.RunUntil("the fence", [&] { return rig_.Saw<RankExited>(); });
  EXPECT_LT(rig_.ExitOf(0).at_ns, fence + 5000 * kMs);
}

TEST_F(HungDiskTest, ARankWaitsOnceItsPipeIsFullAndGoesOnWithTheDisk) {
  constexpr int64_t kBytes = 8 << 20;
  rig_.AddShell("head -c " + std::to_string(kBytes) + " /dev/zero; exit 3");
  SpawnWithRoomFor(1);
  rig_.Start();
  rig_.RunUntil("the start", [&] { return rig_.Saw<RankStarted>(); });
  EXPECT_FALSE(rig_.Saw<RankExited>());
  EXPECT_EQ(rig_.LastOutput(0).bytes, 0);
  Read();
  rig_.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig_.ExitOf(0).wait_status), 3);
  EXPECT_EQ(rig_.LastOutput(0).bytes, kBytes);
  EXPECT_EQ(rig_.LastOutput(0).cut_bytes, 0);
  EXPECT_THAT(rig_.FileOf("rank-0.out"), SizeIs(kBytes));
}

TEST_F(HungDiskTest, WhatWasShownMeanwhileIsWrittenInItsOrderInTheEnd) {
  rig_.AddShell("exit 3");
  rig_.AddShell("exec sleep 1000");
  SpawnWithRoomFor(1);
  rig_.Start();
  rig_.RunUntil("the exit", [&] { return rig_.Saw<RankExited>(); });
  Read();
  rig_.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig_.RunUntilAllGone();
  std::vector<std::string> kinds;
  const std::string text = Read();
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    if (end > at) kinds.push_back(text.substr(at, text.find(' ', at) - at));
  }
  ASSERT_THAT(kinds, SizeIs(9));
  EXPECT_EQ(kinds.front(), "ready");
  EXPECT_EQ(kinds[5], "stop");
  EXPECT_EQ(kinds.back(), "gone");
}

// A real frozen disk. No signal frees a thread that writes to it. The ranks have another account,
// so that their supervisor is in the cgroup that the worker kills.
class FrozenDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "no disk can be mounted here";
    ASSERT_EQ(chmod(rig_.spec.workdir.c_str(), 0711), 0);
    rig_.account = AccountIds{65534, 65534, {65534}};
    rig_.AddShell("while :; do echo line; sleep 0.01; done");
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntilOutput("rank-0.out", "line");
    ASSERT_TRUE(disk_.Freeze());
  }
  bool IsHalfDead() const {
    const auto process = ReadProcessStat(rig_.supervisor_pid());
    return process && process->Ended();
  }
  absl::Status Return() const { return KillLeftovers(rig_.spec.name, rig_.spec.dir, {}); }

  AttemptRig rig_;
  hpc::testing::FreezingDisk disk_{rig_.spec.workdir};
};

TEST_F(FrozenDiskTest, WhatIsLeftOfASupervisorHoldsNoDevice) {
  rig_.Send(StopRanks{.grace_ms = 100, .reason = "reclaimed"});
  rig_.RunUntilAllGone();
  rig_.RunUntil("its end", [&] { return IsHalfDead(); });
  EXPECT_OK(Return());
  disk_.Thaw();
  rig_.RunUntil("its last thread's end", [&] { return !IsHalfDead(); });
}

TEST_F(FrozenDiskTest, ASupervisorThatIsKilledIsMissed) {
  // Waits until there is output in whose writing the supervisor is stuck.
  rig_.RunUntil("more output", [&, begun = rig_.loop.clock().Get().mono] {
    return rig_.loop.clock().Get().mono > begun + absl::Milliseconds(200);
  });
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGKILL);
  rig_.RunUntil("its end", [&] { return IsHalfDead(); });
  (void)rig_.client->Send(StopRanks{.grace_ms = 100, .reason = "reclaimed"});
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
  EXPECT_OK(Return());
}

}  // namespace
}  // namespace hpc::worker

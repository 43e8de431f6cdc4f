// Who of an attempt's processes is told to end, and how long each has for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>

#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

// Saves for a moment when it is told to end, as a program with a checkpoint does.
constexpr char kSaves[] =
    "python3 -uc 'import signal, sys, time\n"
    "def save(signal, frame): time.sleep(0.3); print(\"saved\"); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "sys.stdout.write(\"up\\n\")\n"
    "while True: time.sleep(0.01)'";

// What a rank says that is a shell with this command, up to its end after a stop.
std::string SaidByWhenStopped(const std::string& command, const StopRanks& stop) {
  AttemptRig rig;
  rig.AddShell(command);
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(stop);
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<AllGone>()[0].killed, 0);
  return rig.FileOf("rank-0.out");
}

const StopRanks kStop = {.grace_ms = 15'000, .reason = "cancelled"};

TEST(StopTest, AProgramBehindAWrapperThatEndsAtOnceHasTheGrace) {
  EXPECT_EQ(SaidByWhenStopped(std::string(kSaves) + "; true", kStop), "up\nsaved\n");
}

TEST(StopTest, AProgramBehindAWrapperBehindAWrapperHasTheGrace) {
  const std::string inner = std::string("cat > inner.sh <<'END'\n") + kSaves + "; true\nEND\n";
  EXPECT_EQ(SaidByWhenStopped(inner + "sh inner.sh; true", kStop), "up\nsaved\n");
}

TEST(StopTest, WhatReadsFromAProgramEndsAfterIt) {
  EXPECT_EQ(SaidByWhenStopped(std::string(kSaves) + " | tee copy", kStop), "up\nsaved\n");
}

TEST(StopTest, WhatAShellWithATrapRunsIsToldWithIt) {
  EXPECT_EQ(SaidByWhenStopped("trap 'echo trapped' TERM; " + std::string(kSaves), kStop),
            "up\nsaved\ntrapped\n");
}

TEST(StopTest, WhatAProgramHasStartedIsItsOwnAffair) {
  EXPECT_EQ(SaidByWhenStopped("exec python3 -uc 'import signal, subprocess, sys\n"
                              "child = subprocess.Popen([\"sleep\", \"0.5\"])\n"
                              "def save(signal, frame): print(child.wait()); sys.exit(0)\n"
                              "signal.signal(signal.SIGTERM, save)\n"
                              "sys.stdout.write(\"up\\n\")\n"
                              "signal.pause()'",
                              kStop),
            "up\n0\n");
}

TEST(StopTest, AfterCtrlCAProgramIsInterruptedOnce) {
  const std::string program =
      "python3 -uc 'import sys, time\n"
      "try:\n"
      "  sys.stdout.write(\"up\\n\")\n"
      "  while True: time.sleep(0.01)\n"
      "except KeyboardInterrupt: time.sleep(0.3); print(\"saved\")'";
  const StopRanks stop = {.grace_ms = 15'000, .reason = "cancelled", .interrupt = true};
  EXPECT_EQ(SaidByWhenStopped("exec " + program, stop), "up\nsaved\n");
  EXPECT_EQ(SaidByWhenStopped(program + "; true", stop), "up\nsaved\n");
}

TEST(StopTest, WhatIgnoresSigintGetsSigtermAfterCtrlC) {
  const StopRanks stop = {.grace_ms = 15'000, .reason = "cancelled", .interrupt = true};
  EXPECT_EQ(SaidByWhenStopped("trap '' INT; echo up; exec sleep 1000", stop), "up\n");
}

TEST(StopTest, ARunMayHaveAStopSignalOfItsOwn) {
  AttemptRig rig;
  rig.spec.stop_signal = SIGUSR1;
  rig.AddShell("trap 'echo asked; exit 3' USR1; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(kStop);
  rig.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 3);
}

TEST(StopTest, WhatIsLeftAfterTheLastRankHasAMoment) {
  AttemptRig rig;
  rig.AddShell("(sleep 0.3; echo uploaded) & exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "uploaded\n");
  EXPECT_EQ(rig.All<AllGone>()[0].killed, 0);
}

TEST(StopTest, WhatIsLeftForLongerIsKilled) {
  AttemptRig rig;
  rig.spec.leave_ms = 50;
  rig.AddShell("sleep 1000 & exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<AllGone>()[0].killed, 1);
}

}  // namespace
}  // namespace hpc::worker

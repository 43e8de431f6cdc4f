#include "coordinator/core/values/cause.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

CauseKind KindOf(std::optional<int> code, std::optional<int> signal, const std::string& message) {
  return KindOfFailure({code, signal, false, message, ""}, {75});
}

TEST(KindOfFailureTest, LastWordsSayWhetherItWasAPeer) {
  EXPECT_EQ(KindOf(1, {}, "ValueError: bad shape"), CauseKind::kOwn);
  EXPECT_EQ(KindOf(1, {}, "RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.2]:1"),
            CauseKind::kOfPeer);
  EXPECT_EQ(KindOf(1, {}, "DistBackendError: NCCL error in: ... remote process exited"),
            CauseKind::kOfPeer);
  EXPECT_EQ(KindOf(3, {}, ""), CauseKind::kSilent);
}

TEST(KindOfFailureTest, AWarningIsNoWord) {
  EXPECT_EQ(KindOf(1, {},
                   "[W1127 20:11:05.1 socket.cpp:752] [c10d] The client socket cannot be "
                   "initialized to connect to [pc1]:29500\n"),
            CauseKind::kSilent);
  EXPECT_EQ(KindOf(1, {}, "run.py:3: UserWarning: no connection yet\n  warnings.warn(\n"),
            CauseKind::kSilent);
}

TEST(KindOfFailureTest, NoEndOfAPeerBringsSigkill) {
  EXPECT_EQ(KindOf({}, 9, "Connection closed by peer"), CauseKind::kKilled);
  EXPECT_EQ(KindOf({}, 11, ""), CauseKind::kSilent) << "a library may crash when its peer is gone";
  EXPECT_EQ(KindOf({}, 6, "ProcessGroupNCCL's watchdog got stuck"), CauseKind::kOfPeer);
  EXPECT_EQ(KindOf({}, 13, ""), CauseKind::kSilent);
  EXPECT_EQ(KindOf({}, 15, ""), CauseKind::kTerminated);
}

TEST(KindOfFailureTest, ACodeOfRetryExitAsksForARestart) {
  EXPECT_EQ(KindOf(75, {}, "Connection closed by peer"), CauseKind::kAsked);
}

TEST(FailureOfTest, ASigkillThatNobodyHereSentIsExplained) {
  RankRecord rank;
  rank.rank = 1;
  rank.node = "pc2";
  rank.exit = protocol::RankExit{{}, 9, false, "step 12\n", ""};
  const Moment now = {Window::Exactly(At(10)), std::nullopt};
  EXPECT_EQ(FailureOf(rank, now, {}).text,
            "rank 1 on pc2 was killed by SIGKILL: step 12 (hpcctl did not send it; the kernel does "
            "when memory runs out, which 'journalctl -k' or 'dmesg' on pc2 shows)");
  rank.exit->signal = 11;
  EXPECT_EQ(FailureOf(rank, now, {}).text, "rank 1 on pc2 was killed by SIGSEGV: step 12");
}

TEST(FailureOfTest, ARankFailedBetweenItsTracebackAndItsEnd) {
  RankRecord rank;
  rank.exit = protocol::RankExit{.exit_code = 1, .message = "ValueError: bad shape"};
  const Moment reaped = {Window::Exactly(At(10)), NodeWindow{absl::Seconds(50), absl::Seconds(50)}};
  EXPECT_EQ(FailureOf(rank, reaped, {}).when.earliest, At(10) - kTeardown) << "it wrote none";
  rank.exit->words_before_end = absl::Seconds(2);
  const Cause failure = FailureOf(rank, reaped, {});
  EXPECT_EQ(failure.when.earliest, At(8) - kTeardown);
  EXPECT_EQ(failure.when.latest, At(10));
  EXPECT_EQ(failure.there->earliest, absl::Seconds(48) - kTeardown);
}

}  // namespace
}  // namespace hpc::coordinator

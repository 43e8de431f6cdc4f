// Ranks that live on under their supervisor are ended over the network, but only by those who may
// do that.
#include "worker/supervisor/protocol/recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "common/status_matchers.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/attempts/peers/recall_call.h"
#include "worker/attempts/peers/recall_port.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kHere[] = "127.0.0.1";

class RecallTest : public ::testing::Test {
 protected:
  // Makes a supervisor that is told whom to listen to, with a rank that runs `script`.
  void Run(const std::string& script, const std::string& allowed = kHere) {
    port_ = OpenRecallPort(kHere).value();
    rig_.recall = port_.socket.get();
    rig_.spec.recall_key = port_.access.key;
    rig_.spec.recall_proof = port_.access.proof;
    rig_.spec.recall_from = {allowed};
    rig_.AddShell(script + "; touch here; while :; do sleep 0.01; done");
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntil("the rank runs", [this] { return rig_.Saw<RankStarted>(); });
    pid_ = rig_.All<RankStarted>()[0].pid;
    port_.socket.Reset();
  }
  // The same, and then the supervisor's worker is gone.
  void Orphan(const std::string& script, const std::string& allowed = kHere) {
    Run(script, allowed);
    rig_.DropClient();
    rig_.RunUntil("the supervisor has noticed", [this] { return Listens(); });
  }
  bool Listens() const {
    const auto socket = ConnectToPeer(kHere, kHere, port_.access.port);
    pollfd one{socket.ok() ? socket->get() : -1, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    return socket.ok() && poll(&one, 1, 1000) == 1 &&
           getsockopt(socket->get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }

  absl::Status Ask(const protocol::RecallAccess& access, absl::Duration grace = absl::Seconds(5)) {
    std::optional<absl::Status> answer;
    RecallCall call(&rig_.loop, kHere, {{12, 2}, "pc2", kHere, access, grace},
                    [&](const absl::Status& status) { answer = status; });
    rig_.RunUntil("the recall is answered", [&] { return answer.has_value(); });
    return answer.value_or(absl::UnknownError("none"));
  }
  absl::Status Ask() { return Ask(port_.access); }

  bool RankLives() const { return kill(static_cast<pid_t>(pid_), 0) == 0; }

  AttemptRig rig_;
  RecallPort port_;
  int64_t pid_ = 0;
};

TEST_F(RecallTest, TheRanksAreGoneWhenTheSupervisorSaysSo) {
  Orphan("true");
  EXPECT_OK(Ask());
  EXPECT_FALSE(RankLives());
  const auto journal = ReadJournal(rig_.spec.dir);
  ASSERT_OK(journal);
  EXPECT_TRUE(std::holds_alternative<AllGone>(journal->back()));
  bool recalled = false;
  for (const SupervisorEvent& event : *journal) {
    const auto* stop = std::get_if<StopBegan>(&event);
    recalled |= stop != nullptr && stop->reason == "recall";
  }
  EXPECT_TRUE(recalled);
}

TEST_F(RecallTest, ARankThatIgnoresTheRequestIsKilledAfterTheGrace) {
  Orphan("trap '' TERM");
  EXPECT_OK(Ask(port_.access, absl::Milliseconds(50)));
  EXPECT_FALSE(RankLives());
}

// The supervisor holds such an end back, and its worker is gone: the PC goes down.
TEST_F(RecallTest, ARankThatSigtermHasJustEndedWasToldToEnd) {
  Orphan("true");
  const auto supervisor = static_cast<pid_t>(rig_.supervisor_pid());
  ASSERT_EQ(kill(supervisor, SIGSTOP), 0);  // so that it hears of both at once
  ASSERT_EQ(kill(static_cast<pid_t>(pid_), SIGTERM), 0);
  std::optional<absl::Status> answer;
  RecallCall call(&rig_.loop, kHere, {{12, 2}, "pc2", kHere, port_.access, absl::Seconds(5)},
                  [&](const absl::Status& status) { answer = status; });
  ASSERT_EQ(kill(supervisor, SIGCONT), 0);
  rig_.RunUntil("the recall is answered", [&] { return answer.has_value(); });
  const auto journal = ReadJournal(rig_.spec.dir);
  ASSERT_OK(journal);
  int ended = 0;
  for (const SupervisorEvent& event : *journal) {
    const auto* exited = std::get_if<RankExited>(&event);
    if (exited == nullptr) continue;
    ++ended;
    EXPECT_TRUE(exited->after_stop);
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(RecallTest, WhoDoesNotKnowTheKeyEndsNothing) {
  Orphan("true");
  protocol::RecallAccess guessed = port_.access;
  guessed.key[0] = guessed.key[0] == '0' ? '1' : '0';
  EXPECT_THAT(Ask(guessed), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("pc2")));
  EXPECT_TRUE(RankLives());
  EXPECT_OK(Ask());
}

TEST_F(RecallTest, ANodeOutsideTheGangIsNotHeard) {
  Orphan("true", "10.9.9.9");
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("pc2")));
  EXPECT_TRUE(RankLives());
}

TEST_F(RecallTest, SeveralThatAskAreAllAnswered) {
  Orphan("trap 'sleep 0.1; exit' TERM");
  int answered = 0;
  const protocol::Recall recall{{12, 2}, "pc2", kHere, port_.access, absl::Seconds(5)};
  const auto count = [&](const absl::Status& status) { answered += status.ok(); };
  RecallCall one(&rig_.loop, kHere, recall, count);
  RecallCall other(&rig_.loop, kHere, recall, count);
  rig_.RunUntil("both are answered", [&] { return answered == 2; });
}

TEST_F(RecallTest, WhereNobodyListensThatIsSaidAtOnce) {
  Orphan("true");
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGKILL);
  rig_.RunUntil("its port is closed", [this] { return !Listens(); });
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("Connection refused")));
}

// A program of the ranks' account may take the port of a supervisor that it has killed.
TEST_F(RecallTest, WhoAnswersWithoutTheProofIsNotBelieved) {
  RecallPort port = OpenRecallPort(kHere).value();
  ASSERT_EQ(listen(port.socket.get(), 1), 0);
  std::optional<absl::Status> answer;
  RecallCall call(&rig_.loop, kHere, {{12, 2}, "pc2", kHere, port.access, absl::Seconds(5)},
                  [&](const absl::Status& status) { answer = status; });
  UniqueFd accepted;
  rig_.RunUntil("it has connected", [&] {
    accepted.Reset(accept4(port.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return accepted.ok();
  });
  const std::string wrong = RecallAnswer(std::string(kRecallDigits, 'a'));
  ASSERT_EQ(send(accepted.get(), wrong.data(), wrong.size(), 0), ssize_t(wrong.size()));
  rig_.RunUntil("the recall is answered", [&] { return answer.has_value(); });
  EXPECT_THAT(*answer,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is not the supervisor")));
}

TEST(RecallPortTest, EverySupervisorHasItsOwnSecrets) {
  const RecallPort one = OpenRecallPort(kHere).value(), other = OpenRecallPort(kHere).value();
  EXPECT_NE(one.access.key, other.access.key);
  EXPECT_NE(one.access.key, one.access.proof);
  EXPECT_EQ(one.access.key.size(), kRecallDigits);
  EXPECT_NE(one.access.port, other.access.port);
}

TEST(RecallPortTest, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_THAT(OpenRecallPort("192.0.2.1").status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("bind a port of 192.0.2.1")));
}

}  // namespace
}  // namespace hpc::worker

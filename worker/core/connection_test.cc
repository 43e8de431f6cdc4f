#include "worker/core/connection.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::worker {
namespace {

using Action = Connection::Action;

protocol::Welcome TwoSecondHeartbeats() {
  return {absl::Seconds(6), absl::Seconds(2), absl::Seconds(300)};
}

Connection Connected(double at) {
  Connection connection(At(at));
  connection.Tick(At(at));
  connection.OnWelcome(At(at), TwoSecondHeartbeats());
  return connection;
}

// Sends heartbeats on time, as a process does that nothing delays.
void Beat(Connection* connection, int from, int until) {
  for (int at = from + 2; at <= until; at += 2) connection->Tick(At(at));
}

TEST(ConnectionTest, OpensAtOnceAndOnlyOnce) {
  Connection connection(At(5));
  EXPECT_EQ(connection.NextDeadline(), At(5));
  EXPECT_EQ(connection.Tick(At(5)), Action::kOpen);
  EXPECT_EQ(connection.Tick(At(6)), Action::kNone);
  EXPECT_EQ(connection.state(), Connection::State::kConnecting);
}

TEST(ConnectionTest, GivesUpWithoutWelcome) {
  Connection connection(At(0));
  connection.Tick(At(0));
  EXPECT_EQ(connection.NextDeadline(), At(10));
  EXPECT_EQ(connection.Tick(At(9.9)), Action::kNone);
  EXPECT_EQ(connection.Tick(At(10)), Action::kGiveUp);
}

TEST(ConnectionTest, HeartbeatsAtTheIntervalItWasTold) {
  Connection connection = Connected(0);
  EXPECT_EQ(connection.Tick(At(0)), Action::kHeartbeat);
  EXPECT_EQ(connection.Tick(At(1.9)), Action::kNone);
  EXPECT_EQ(connection.Tick(At(2)), Action::kHeartbeat);
  EXPECT_EQ(connection.Tick(At(2)), Action::kNone);
  EXPECT_EQ(connection.NextDeadline(), At(4));
}

TEST(ConnectionTest, TheFirstAnswerIsConfirmedAndLaterOnesAreNot) {
  Connection connection = Connected(0);
  EXPECT_EQ(connection.Tick(At(0)), Action::kHeartbeat);
  connection.OnHeard(At(0.1), At(0));
  EXPECT_EQ(connection.Tick(At(0.1)), Action::kHeartbeat);
  connection.OnHeard(At(0.2), At(0.1));
  EXPECT_EQ(connection.Tick(At(0.2)), Action::kNone);
}

TEST(ConnectionTest, LateHeartbeatsAreNotMadeUpFor) {
  Connection connection = Connected(0);
  EXPECT_EQ(connection.Tick(At(100)), Action::kHeartbeat);
  EXPECT_EQ(connection.NextDeadline(), At(102));
}

TEST(ConnectionTest, WhileItStoodStillItHadNoContactThatItKnowsOf) {
  Connection connection = Connected(0);
  Beat(&connection, 0, 100);
  connection.Tick(At(200));  // the process was stopped, and continues
  EXPECT_FALSE(connection.Proven(At(200)));
  connection.OnClosed(At(211), absl::UnavailableError("timed out"), 1.0);
  EXPECT_EQ(connection.SilentFor(At(211)), absl::Seconds(211 - (102 - 12)));
}

TEST(ConnectionTest, AConnectionThatOutlivesAStandstillIsProvenAgain) {
  Connection connection = Connected(0);
  EXPECT_TRUE(connection.Proven(At(0))) << "it was answered";
  connection.Tick(At(100));
  Beat(&connection, 100, 112);
  EXPECT_TRUE(connection.Proven(At(112)));
  connection.OnClosed(At(113), absl::UnavailableError("timed out"), 1.0);
  EXPECT_EQ(connection.SilentFor(At(113)), absl::Seconds(12));
}

TEST(ConnectionTest, BacksOffFromATenthOfASecondToThreeSeconds) {
  Connection connection(At(0));
  double now = 0;
  double wait = 0;
  for (double expected : {0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0}) {
    ASSERT_EQ(connection.Tick(At(now)), Action::kOpen);
    connection.OnClosed(At(now), absl::UnavailableError("connection refused"), 1.0);
    wait = absl::ToDoubleSeconds(connection.NextDeadline() - At(now));
    EXPECT_NEAR(wait, expected, 1e-6);
    now += wait + 1e-6;
  }
  EXPECT_EQ(connection.problem(), "connection refused");
}

TEST(ConnectionTest, JitterHalvesTheWaitAtMost) {
  Connection connection(At(0));
  connection.Tick(At(0));
  connection.OnClosed(At(0), absl::UnavailableError("no"), 0.0);
  EXPECT_EQ(connection.NextDeadline(), At(0.05));
}

TEST(ConnectionTest, AWelcomeResetsTheBackOff) {
  Connection connection(At(0));
  for (int i = 0; i < 6; ++i) connection.OnClosed(At(0), absl::UnavailableError("no"), 1.0);
  connection.Tick(At(10));
  connection.OnWelcome(At(10), TwoSecondHeartbeats());
  EXPECT_EQ(connection.problem(), "");
  connection.OnClosed(At(20), absl::UnavailableError("reset"), 1.0);
  EXPECT_EQ(connection.NextDeadline(), At(20.1));
}

TEST(ConnectionTest, ARefusalIsRetriedSlowlyAndNamed) {
  Connection connection(At(0));
  connection.Tick(At(0));
  connection.OnClosed(At(0), absl::AlreadyExistsError("pc1 is connected from 10.0.0.9"), 1.0);
  EXPECT_EQ(connection.NextDeadline(), At(2));
  EXPECT_EQ(connection.problem(), "pc1 is connected from 10.0.0.9");
  for (int i = 0; i < 10; ++i) {
    connection.OnClosed(At(0), absl::FailedPreconditionError("protocol 7 is not spoken here"), 1.0);
  }
  EXPECT_EQ(connection.NextDeadline(), At(30));
}

TEST(ConnectionTest, RestartConnectsAtOnce) {
  Connection connection = Connected(0);
  connection.Restart(At(7));
  EXPECT_EQ(connection.Tick(At(7)), Action::kOpen);
}

TEST(ConnectionTest, IsNeverSilentWhileConnected) {
  Connection connection = Connected(0);
  EXPECT_EQ(connection.SilentFor(At(1000)), absl::ZeroDuration());
  EXPECT_EQ(connection.SilenceLimit(), MonoTime::Infinite());
}

TEST(ConnectionTest, SilenceBeganBeforeTheBreakWasNoticed) {
  Connection connection = Connected(0);
  Beat(&connection, 0, 100);
  connection.OnClosed(At(100), absl::UnavailableError("timed out"), 1.0);
  EXPECT_EQ(connection.SilentFor(At(100)), Connection::kDetection);
  EXPECT_EQ(connection.SilenceLimit(), At(100 - 12 + 300));
}

TEST(ConnectionTest, SilenceDoesNotBeginBeforeTheWelcome) {
  Connection connection = Connected(100);
  connection.OnClosed(At(103), absl::UnavailableError("reset"), 1.0);
  EXPECT_EQ(connection.SilentFor(At(103)), absl::Seconds(3));
}

TEST(ConnectionTest, FailedTriesDoNotCountAsContact) {
  Connection connection = Connected(0);
  Beat(&connection, 0, 100);
  connection.OnClosed(At(100), absl::UnavailableError("reset"), 1.0);
  connection.Tick(At(101));
  connection.OnClosed(At(101), absl::UnavailableError("refused"), 1.0);
  EXPECT_EQ(connection.SilenceLimit(), At(100 - 12 + 300));
}

TEST(ConnectionTest, TimeAsleepCountsAsSilence) {
  Connection connection = Connected(0);
  Beat(&connection, 0, 100);
  connection.OnClosed(At(100), absl::UnavailableError("reset"), 1.0);
  connection.OnSlept(absl::Seconds(250));
  EXPECT_EQ(connection.SilenceLimit(), At(100 - 12 + 300 - 250));
}

TEST(ConnectionTest, SupervisorsGetLessThanTheCoordinatorWaits) {
  Connection connection = Connected(0);
  EXPECT_EQ(connection.SupervisorLease(), absl::Seconds(288));
  connection.OnWelcome(At(0), {absl::Seconds(6), absl::Seconds(2), absl::Seconds(4)});
  EXPECT_EQ(connection.SupervisorLease(), absl::Seconds(2));
}

}  // namespace
}  // namespace hpc::worker

#include "coordinator/core/values/deciding_cause.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

Cause Failure(CauseKind kind, double earliest, double latest, const char* text) {
  return {kind, AttemptOutcome::kProgramFailed, {At(earliest), At(latest)}, "pc1", text, 1};
}
Cause Loss(double earliest, double latest, const char* text) {
  return {CauseKind::kCluster, AttemptOutcome::kNodeLost, {At(earliest), At(latest)}, "pc2", text};
}
Cause Order(double at, const char* text) {
  return {CauseKind::kOrdered, AttemptOutcome::kCancelled, Window::Exactly(At(at)), "", text};
}
std::string Decided(const std::vector<Cause>& causes) { return Deciding(causes).text; }

TEST(DecidingTest, TheEarliestFailureCountsWhenItIsHeardLast) {
  EXPECT_EQ(Decided({Failure(CauseKind::kOwn, 10, 10.1, "second"),
                     Failure(CauseKind::kOwn, 8, 8.1, "first")}),
            "first");
}

TEST(DecidingTest, OfWhatCannotBeOrderedAComplaintAboutAPeerComesLast) {
  EXPECT_EQ(Decided({Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer"),
                     Failure(CauseKind::kOwn, 9.95, 10.3, "bad shape")}),
            "bad shape");
  EXPECT_EQ(Decided({Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer"),
                     Failure(CauseKind::kOwn, 10.7, 10.9, "bad shape")}),
            "bad shape")
      << "a rank may close its connections before it ends";
  EXPECT_EQ(Decided({Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer"),
                     Failure(CauseKind::kOwn, 11.1, 11.3, "bad shape")}),
            "closed by peer")
      << "which was surely first";
}

TEST(DecidingTest, OfWhatCannotBeOrderedWhoAsksForARestartComesFirst) {
  EXPECT_EQ(Decided({Failure(CauseKind::kSilent, 9.8, 10, "code 1"),
                     Failure(CauseKind::kAsked, 9.9, 11, "code 75")}),
            "code 75");
}

TEST(DecidingTest, ASilentEndGivesWayToWhatItMayBeAConsequenceOf) {
  const Cause silent = Failure(CauseKind::kSilent, 9.8, 10, "code 1");
  EXPECT_EQ(Decided({silent, Failure(CauseKind::kKilled, 9.9, 10.1, "SIGKILL")}), "SIGKILL");
  EXPECT_EQ(Decided({silent, Failure(CauseKind::kOwn, 9.9, 10.1, "bad shape")}), "bad shape");
  Cause crash = Failure(CauseKind::kSilent, 9.9, 10.1, "SIGSEGV");
  crash.exit_code = 139;
  EXPECT_EQ(Decided({silent, crash}), "SIGSEGV");
  EXPECT_EQ(Decided({silent, Failure(CauseKind::kOwn, 10.1, 10.3, "bad shape")}), "code 1")
      << "that was later";
}

TEST(DecidingTest, ACrashDoesNotWaitForWhoAsksForARestartBecauseOfIt) {
  Cause crash = Failure(CauseKind::kSilent, 9.9, 10, "SIGSEGV");
  const Cause asks = Failure(CauseKind::kAsked, 10.5, 10.7, "code 75");
  EXPECT_EQ(Decided({crash, asks}), "code 75") << "which a silent end does";
  crash.exit_code = 139;
  EXPECT_EQ(Decided({crash, asks}), "SIGSEGV");
}

TEST(DecidingTest, AQuickExitGivesWayToWhatMayHaveCausedIt) {
  EXPECT_EQ(Decided({Failure(CauseKind::kSilent, 9.9, 10, "code 1"),
                     Loss(8, 12, "its supervisor was killed")}),
            "its supervisor was killed");
  EXPECT_EQ(Decided({Failure(CauseKind::kSilent, 9.9, 10, "code 1"),
                     Loss(10.1, 12, "its supervisor was killed")}),
            "code 1");
}

TEST(DecidingTest, AFailureIsNotExcusedByWhatSurelyCameLater) {
  const Cause cut = Loss(9, 11, "nothing heard from pc2");
  EXPECT_EQ(Decided({Failure(CauseKind::kOwn, 8.7, 8.9, "bad shape"), cut}), "bad shape");
  EXPECT_EQ(Decided({Failure(CauseKind::kOwn, 9.9, 10, "no peers left"), cut}),
            "nothing heard from pc2")
      << "a program may say in its own words that its peers are gone";
  EXPECT_EQ(Decided({Failure(CauseKind::kOwn, 12, 12.1, "bad shape"), cut}),
            "nothing heard from pc2");
}

TEST(DecidingTest, AFailureHappenedBeforeTheComplaintThatItExplains) {
  const Cause closed = Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer");
  const Cause late = Failure(CauseKind::kOwn, 9, 120, "bad shape");  // its PC was away
  EXPECT_EQ(Decided({closed, Loss(12, 18, "its store was lost"), late}), "bad shape");
  EXPECT_EQ(Decided({closed, Loss(10.5, 18, "its store was lost"), late}), "its store was lost")
      << "which may have been the reason of the complaint";
  EXPECT_EQ(Decided({Loss(12, 18, "its store was lost"), late}), "its store was lost");
}

TEST(DecidingTest, ARankThatSigkillEndedIsProbablyNoConsequence) {
  const Cause cut = Loss(9, 11, "nothing heard from pc2");
  EXPECT_EQ(Decided({Failure(CauseKind::kKilled, 9.9, 10, "SIGKILL"), cut}), "SIGKILL");
  EXPECT_EQ(Decided({Failure(CauseKind::kKilled, 10.9, 11.2, "SIGKILL"), cut}),
            "nothing heard from pc2");
}

TEST(DecidingTest, SigtermGivesWayToItsNodeForASecond) {
  Cause sigterm = Failure(CauseKind::kTerminated, 9.9, 10, "SIGTERM");
  sigterm.may_answer_sigterm = true;
  Cause leaves = Loss(10.9, 11, "pc1 goes down");
  EXPECT_EQ(Decided({sigterm, leaves}), "SIGTERM") << "which another node says of itself";
  leaves.node = "pc1";
  EXPECT_EQ(Decided({sigterm, leaves}), "pc1 goes down");
  leaves.when = {At(11.1), At(11.2)};
  EXPECT_EQ(Decided({sigterm, leaves}), "SIGTERM");
}

TEST(DecidingTest, APeerOfARankThatAnswersSigtermMayFailBeforeThatHasEnded) {
  const auto named = [](double earliest, CauseKind kind) {
    Cause answer = Failure(kind, earliest, 10.4, "answer");
    answer.node = "pc1";
    answer.may_answer_sigterm = true;
    Cause own = Failure(CauseKind::kOwn, 9.9, 10, "no data");
    own.node = "pc2";
    return Decided({own, answer});
  };
  EXPECT_EQ(named(9.8, CauseKind::kTerminated), "answer");
  EXPECT_EQ(named(9.8, CauseKind::kSilent), "answer");
  EXPECT_EQ(named(9.8, CauseKind::kOwn), "no data");
  EXPECT_EQ(named(10.1, CauseKind::kTerminated), "no data") << "that was later";
  Cause answer = Failure(CauseKind::kSilent, 10.5, 10.6, "answer");
  answer.may_answer_sigterm = true;
  answer.node = "pc1";
  Cause complaint = Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer");
  complaint.node = "pc2";
  EXPECT_EQ(Decided({complaint, answer}), "answer") << "a complaint waits for a second";
}

TEST(DecidingTest, WhatExplainsComplaintsExplainsNothingElseOnOtherNodes) {
  Cause apart = Loss(7, 9, "pc1 did not hear pc2");
  apart.of_complaints = true;
  const Cause complaint = Failure(CauseKind::kOfPeer, 9.9, 10, "closed by peer");
  EXPECT_EQ(Decided({complaint, apart}), "pc1 did not hear pc2");
  Cause own = Failure(CauseKind::kOwn, 10.1, 10.2, "bad shape");
  EXPECT_EQ(Decided({complaint, apart, own}), "bad shape") << "of another node";
  own.node = apart.node;
  EXPECT_EQ(Decided({complaint, apart, own}), "bad shape") << "it was over";
  apart.when = {At(7), At(10.1)};
  EXPECT_EQ(Decided({complaint, apart, own}), "pc1 did not hear pc2");
  own.kind = CauseKind::kKilled;
  EXPECT_EQ(Decided({complaint, apart, own}), "bad shape");
}

TEST(DecidingTest, WhatWasHeardBeforeAnOrderCameBeforeIt) {
  EXPECT_EQ(Decided({Failure(CauseKind::kSilent, 9.9, 10, "code 1"), Order(10, "cancelled")}),
            "code 1");
  EXPECT_EQ(Decided({Order(10, "cancelled"), Failure(CauseKind::kSilent, 9.9, 10.1, "code 1")}),
            "cancelled");
  EXPECT_EQ(Decided({Order(10, "cancelled"), Failure(CauseKind::kSilent, 8, 8.1, "code 1")}),
            "code 1");
}

TEST(DecidingTest, WhatCameAfterAFailureDoesNotExplainIt) {
  EXPECT_EQ(Decided({Failure(CauseKind::kSilent, 8, 8.1, "code 1"), Order(10, "reclaimed"),
                     Loss(2, 30, "nothing heard from pc2")}),
            "nothing heard from pc2");
}

TEST(DecidingTest, OfOtherCausesTheEarliestDecides) {
  EXPECT_EQ(Decided({Loss(8, 9, "the fence"), Loss(4, 5, "the owner"), Order(10, "cancelled")}),
            "the owner");
}

}  // namespace
}  // namespace hpc::coordinator

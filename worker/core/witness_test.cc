#include "worker/core/witness.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::worker {
namespace {

constexpr AttemptRef kRef{12, 1};

// Asks, gets an answer at once, and returns what was vouched for.
std::optional<MonoTime> Exchange(Asker* asker, Witness* witness, MonoTime now,
                                 Vouch vouch = Vouch::kYes, bool host_vouches = true) {
  const auto answer = witness->Answer(now, asker->Ask(now, vouch), host_vouches);
  return answer ? asker->OnAnswer(*answer).whole : std::nullopt;
}

TEST(WitnessTest, AllAreThereOnceEachHasRepeatedAnAnswer) {
  Witness witness(kRef, 3);
  Asker one(kRef, 1), two(kRef, 2);
  EXPECT_EQ(Exchange(&one, &witness, At(10)), std::nullopt);
  EXPECT_EQ(Exchange(&two, &witness, At(11)), std::nullopt);
  EXPECT_EQ(Exchange(&one, &witness, At(12)), std::nullopt) << "nothing of node 2 is proved yet";
  EXPECT_EQ(Exchange(&two, &witness, At(13)), At(10)) << "when node 1 was there for sure";
  EXPECT_EQ(Exchange(&one, &witness, At(14)), At(11));
  EXPECT_EQ(witness.WholeAt(), At(11));
}

TEST(WitnessTest, ANodeThatIsNotHeardAgesForAll) {
  Witness witness(kRef, 3);
  Asker one(kRef, 1), two(kRef, 2);
  for (int i = 1; i <= 2; ++i) {
    Exchange(&one, &witness, At(i));
    Exchange(&two, &witness, At(i));
  }
  EXPECT_EQ(Exchange(&one, &witness, At(9)), At(1));
}

TEST(WitnessTest, WordsThatWereLongUnderWayProveNoMoreThanWhenTheyWereSaid) {
  Witness witness(kRef, 2);
  Asker one(kRef, 1);
  Exchange(&one, &witness, At(1));
  const Keepalive late = one.Ask(At(2), Vouch::kYes);
  const auto answer = witness.Answer(At(60), late, true);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->whole_ago, absl::Seconds(59));
}

TEST(WitnessTest, AnAnswerThatWasLongUnderWayCountsFromTheQuestion) {
  Witness witness(kRef, 2);
  Asker one(kRef, 1);
  Exchange(&one, &witness, At(1));
  const auto answer = witness.Answer(At(2.5), one.Ask(At(2), Vouch::kYes), true);
  EXPECT_EQ(one.OnAnswer(*answer).whole, At(0.5)) << "1.5 s before the question";
}

TEST(WitnessTest, WhoDoesNotVouchIsNotThere) {
  Witness witness(kRef, 2);
  Asker one(kRef, 1);
  Exchange(&one, &witness, At(1));
  Exchange(&one, &witness, At(2));
  EXPECT_EQ(Exchange(&one, &witness, At(9), Vouch::kNo), std::nullopt);
  EXPECT_EQ(witness.WholeAt(), At(1));
  EXPECT_EQ(Exchange(&one, &witness, At(10), Vouch::kYes, /*host_vouches=*/false), std::nullopt);
}

// Its ranks may have failed, and that is no reason to think that it cannot be reached.
TEST(WitnessTest, WhoDoesNotVouchIsHeard) {
  Witness witness(kRef, 2);
  Asker one(kRef, 1);
  for (const double at : {1.0, 2.0}) {
    one.OnAnswer(*witness.Answer(At(at), one.Ask(At(at), Vouch::kYes), true));
  }
  const auto answer = witness.Answer(At(9), one.Ask(At(9), Vouch::kNo), /*vouches=*/false);
  const Asker::Seen seen = one.OnAnswer(*answer);
  EXPECT_EQ(seen.heard, At(2)) << "when it was there for sure";
  EXPECT_EQ(seen.whole, std::nullopt);
  EXPECT_EQ(witness.HeardAt(), At(2));
}

TEST(WitnessTest, NobodyWaitsForANodeWhosePartHasEndedForGood) {
  Witness witness(kRef, 3);
  Asker one(kRef, 1), two(kRef, 2);
  for (int i = 1; i <= 2; ++i) {
    Exchange(&one, &witness, At(i));
    Exchange(&two, &witness, At(i));
  }
  Exchange(&two, &witness, At(3), Vouch::kForGood);
  EXPECT_EQ(Exchange(&one, &witness, At(90)), At(2));
  EXPECT_EQ(Exchange(&one, &witness, At(91)), At(90));
  EXPECT_EQ(Exchange(&two, &witness, At(92), Vouch::kNo), At(90)) << "it was said for good";
}

TEST(WitnessTest, WhereAllOthersHaveEndedOneOfThemMustBeThere) {
  Witness witness(kRef, 3);
  Asker one(kRef, 1), two(kRef, 2);
  Exchange(&one, &witness, At(1), Vouch::kForGood);
  Exchange(&two, &witness, At(1), Vouch::kForGood);
  EXPECT_EQ(witness.WholeAt(), std::nullopt) << "neither has repeated an answer";
  Exchange(&one, &witness, At(2), Vouch::kForGood);
  Exchange(&two, &witness, At(9), Vouch::kForGood);
  EXPECT_EQ(witness.WholeAt(), At(1));
  Exchange(&one, &witness, At(10), Vouch::kForGood);
  EXPECT_EQ(witness.WholeAt(), At(2));
  Exchange(&one, &witness, At(20), Vouch::kNo);
  EXPECT_EQ(witness.WholeAt(), At(2)) << "it has promised not to vouch";
}

TEST(WitnessTest, AnotherAttemptIsNotAnswered) {
  Witness witness(kRef, 2);
  Asker other({12, 2}, 1), beyond(kRef, 2), itself(kRef, 0);
  EXPECT_EQ(witness.Answer(At(1), other.Ask(At(1), Vouch::kYes), true), std::nullopt);
  EXPECT_EQ(witness.Answer(At(1), beyond.Ask(At(1), Vouch::kYes), true), std::nullopt);
  EXPECT_EQ(witness.Answer(At(1), itself.Ask(At(1), Vouch::kYes), true), std::nullopt);
}

TEST(WitnessTest, AnEchoOfTheFutureIsRefused) {
  Witness witness(kRef, 2);
  EXPECT_EQ(witness.Answer(At(1), {kRef, 1, Vouch::kYes, At(1), At(2)}, true), std::nullopt);
}

TEST(WitnessTest, AnAnswerToAnotherQuestionTellsNothing) {
  Witness witness(kRef, 2);
  Asker one(kRef, 1);
  Exchange(&one, &witness, At(1));
  const auto old = witness.Answer(At(2), one.Ask(At(2), Vouch::kYes), true);
  one.GiveUp();
  one.Ask(At(3), Vouch::kYes);
  EXPECT_EQ(one.OnAnswer(*old).heard, std::nullopt);
}

}  // namespace
}  // namespace hpc::worker

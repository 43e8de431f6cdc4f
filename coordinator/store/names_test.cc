// Each word in the database is read back as the value that was written, and is the word that
// clients see.
#include "coordinator/store/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hpc::coordinator {
namespace {

using ::testing::Optional;

// Checks the values from `first` to `last`. No two of them may share a word.
template <typename E>
void ExpectWords(E first, E last) {
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    const E value = static_cast<E>(i);
    EXPECT_NE(ToWord(value), "?") << i;
    EXPECT_THAT(FromWord<E>(ToWord(value)), Optional(value));
  }
  EXPECT_EQ(FromWord<E>("no such word"), std::nullopt);
}

template <typename E>
void ExpectNames(E first, E last) {
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
    EXPECT_EQ(std::string(ToWord(static_cast<E>(i))), Name(static_cast<E>(i)));
  }
}

TEST(NamesTest, EveryValueHasAWordOfItsOwn) {
  ExpectWords(RunState::kQueued, RunState::kTimedOut);
  ExpectWords(AttemptState::kWaking, AttemptState::kEnded);
  ExpectWords(AttemptOutcome::kNone, AttemptOutcome::kShrunk);
  ExpectWords(CauseKind::kOrdered, CauseKind::kTerminated);
  ExpectWords(Power::kOn, Power::kWaking);
  ExpectWords(protocol::DeviceKind::kGpu, protocol::DeviceKind::kCpuSlot);
  ExpectWords(Severity::kInfo, Severity::kError);
}

TEST(NamesTest, StatesHaveTheWordsThatClientsSee) {
  ExpectNames(RunState::kQueued, RunState::kTimedOut);
  ExpectNames(AttemptState::kWaking, AttemptState::kEnded);
  ExpectNames(AttemptOutcome::kSucceeded, AttemptOutcome::kShrunk);
  ExpectNames(Power::kOn, Power::kWaking);
}

}  // namespace
}  // namespace hpc::coordinator

#include "worker/rendezvous/key_value_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "worker/rendezvous/store_bytes.h"

namespace hpc::worker::store {
namespace {

using hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr uint64_t kAnn = 100;
constexpr uint64_t kBob = 200;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(KeyValueTableTest, ReturnsWhatWasSetLast) {
  KeyValueTable table;
  EXPECT_EQ(table.Get("k"), "");
  ASSERT_OK(table.Set("k", "1"));
  ASSERT_OK(table.Set("k", "2"));
  EXPECT_EQ(table.Get("k"), "2");
  EXPECT_EQ(table.NumKeys(), 1);
}

TEST(KeyValueTableTest, ComparesBeforeItSets) {
  KeyValueTable table;
  ASSERT_OK(table.Set("k", "old"));
  EXPECT_EQ(table.CompareSet("k", "other", "new").value(), "old");
  EXPECT_EQ(table.Get("k"), "old");
  EXPECT_EQ(table.CompareSet("k", "old", "new").value(), "new");
  EXPECT_EQ(table.Get("k"), "new");
}

TEST(KeyValueTableTest, CompareSetTakesAMissingKeyForEmpty) {
  KeyValueTable table;
  EXPECT_EQ(table.CompareSet("k", "expected", "new").value(), "expected");
  EXPECT_FALSE(table.Check({"k"}));
  EXPECT_EQ(table.CompareSet("k", "", "new").value(), "new");
  EXPECT_EQ(table.Get("k"), "new");
}

TEST(KeyValueTableTest, AddsInDecimalText) {
  KeyValueTable table;
  EXPECT_EQ(table.Add("n", 5).value(), 5);
  EXPECT_EQ(table.Add("n", -12).value(), -7);
  EXPECT_EQ(table.Get("n"), "-7");
}

TEST(KeyValueTableTest, AddsToTheNumberThatAValueBeginsWith) {
  KeyValueTable table;
  ASSERT_OK(table.Set("n", " 12abc"));
  EXPECT_EQ(table.Add("n", 1).value(), 13);
  EXPECT_EQ(table.Get("n"), "13");
}

TEST(KeyValueTableTest, RefusesToAddToWhatIsNoNumber) {
  KeyValueTable table;
  for (const char* text : {"", "abc", "-", " ", "\xff"}) {
    ASSERT_OK(table.Set("n", text));
    EXPECT_THAT(table.Add("n", 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a number")))
        << text;
    EXPECT_EQ(table.Get("n"), text);
  }
}

TEST(KeyValueTableTest, RefusesSumsThatDoNotFit) {
  KeyValueTable table;
  ASSERT_OK(table.Set("n", absl::StrCat(kMax)));
  EXPECT_THAT(table.Add("n", 1), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("sum")));
  EXPECT_EQ(table.Get("n"), absl::StrCat(kMax));
  ASSERT_OK(table.Set("n", absl::StrCat(kMin)));
  EXPECT_THAT(table.Add("n", -1), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("sum")));
  EXPECT_EQ(table.Add("n", kMax).value(), -1);
  ASSERT_OK(table.Set("n", "9223372036854775808"));
  EXPECT_THAT(table.Add("n", -1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("does not fit in 64 bits")));
}

TEST(KeyValueTableTest, AppendsToAValueOrBeginsOne) {
  KeyValueTable table;
  ASSERT_OK(table.Append("k", "ab"));
  ASSERT_OK(table.Append("k", "cd"));
  EXPECT_EQ(table.Get("k"), "abcd");
}

TEST(KeyValueTableTest, RefusesToAppendBeyondTheLargestValue) {
  KeyValueTable table;
  ASSERT_OK(table.Set("k", std::string(kMaxValueBytes - 1, 'x')));
  ASSERT_OK(table.Append("k", "y"));
  EXPECT_THAT(table.Append("k", "z"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("8388609 bytes")));
  EXPECT_EQ(table.Get("k").size(), kMaxValueBytes);
}

TEST(KeyValueTableTest, DeletesKeysButNotQueues) {
  KeyValueTable table;
  ASSERT_OK(table.Set("k", "v"));
  ASSERT_OK(table.QueuePush("q", "1"));
  EXPECT_EQ(table.DeleteKey("k"), 1);
  EXPECT_EQ(table.DeleteKey("k"), 0);
  EXPECT_EQ(table.DeleteKey("q"), 0);
  EXPECT_EQ(table.QueueLen("q"), 1);
}

TEST(KeyValueTableTest, ListsAndCountsKeysButNotQueues) {
  KeyValueTable table;
  ASSERT_OK(table.Set("b", ""));
  ASSERT_OK(table.Set("a", ""));
  ASSERT_OK(table.QueuePush("q", "1"));
  EXPECT_THAT(table.ListKeys(), ElementsAre("a", "b"));
  EXPECT_EQ(table.NumKeys(), 2);
}

TEST(KeyValueTableTest, QueuesGiveTheOldestFirst) {
  KeyValueTable table;
  EXPECT_EQ(table.QueuePop("q"), std::nullopt);
  EXPECT_EQ(table.QueueLen("q"), 0);
  ASSERT_OK(table.QueuePush("q", "1"));
  ASSERT_OK(table.QueuePush("q", "2"));
  EXPECT_EQ(table.QueueLen("q"), 2);
  EXPECT_THAT(table.QueuePop("q"), Optional(std::string("1")));
  EXPECT_THAT(table.QueuePop("q"), Optional(std::string("2")));
  EXPECT_EQ(table.QueuePop("q"), std::nullopt);
}

TEST(KeyValueTableTest, CheckHoldsForKeysAndForQueuesWithAnElement) {
  KeyValueTable table;
  EXPECT_TRUE(table.Check({}));
  ASSERT_OK(table.Set("k", ""));
  EXPECT_FALSE(table.Check({"k", "q"}));
  ASSERT_OK(table.QueuePush("q", ""));
  EXPECT_TRUE(table.Check({"k", "q"}));
  table.QueuePop("q");
  EXPECT_FALSE(table.Check({"q"}));
}

TEST(KeyValueTableTest, AWaitForWhatIsThereIsNone) {
  KeyValueTable table;
  ASSERT_OK(table.Set("k", ""));
  ASSERT_OK(table.QueuePush("q", ""));
  EXPECT_EQ(table.Wait(kAnn, {"k", "q"}), std::nullopt);
  EXPECT_EQ(table.Wait(kAnn, {}), std::nullopt);
}

TEST(KeyValueTableTest, EveryWayToWriteAKeyEndsTheWaitsForIt) {
  const std::function<absl::Status(KeyValueTable&)> writes[] = {
      [](KeyValueTable& t) { return t.Set("k", "v"); },
      [](KeyValueTable& t) { return t.Add("k", 1).status(); },
      [](KeyValueTable& t) { return t.Append("k", "v"); },
      [](KeyValueTable& t) { return t.CompareSet("k", "", "v").status(); },
      [](KeyValueTable& t) { return t.QueuePush("k", "v"); },
  };
  for (const auto& write : writes) {
    KeyValueTable table;
    const std::optional<uint64_t> wait = table.Wait(kAnn, {"k"});
    ASSERT_TRUE(wait.has_value());
    EXPECT_THAT(table.TakeEnded(), IsEmpty());
    ASSERT_OK(write(table));
    EXPECT_THAT(table.TakeEnded(), ElementsAre(Waiters::Wait{*wait, kAnn}));
    EXPECT_THAT(table.TakeEnded(), IsEmpty());
  }
}

TEST(KeyValueTableTest, ACompareSetThatSetsNothingEndsNoWait) {
  KeyValueTable table;
  table.Wait(kAnn, {"k"});
  ASSERT_OK(table.CompareSet("k", "expected", "new"));
  EXPECT_THAT(table.TakeEnded(), IsEmpty());
}

TEST(KeyValueTableTest, AQueueElementEndsOneWaitOnly) {
  KeyValueTable table;
  const std::optional<uint64_t> first = table.Wait(kAnn, {"q"});
  const std::optional<uint64_t> second = table.Wait(kBob, {"q"});
  ASSERT_OK(table.QueuePush("q", "1"));
  EXPECT_THAT(table.TakeEnded(), ElementsAre(Waiters::Wait{*first, kAnn}));
  ASSERT_OK(table.QueuePush("q", "2"));
  EXPECT_THAT(table.TakeEnded(), ElementsAre(Waiters::Wait{*second, kBob}));
}

TEST(KeyValueTableTest, TheLastOneInOpensTheBarrier) {
  KeyValueTable table;
  const std::optional<uint64_t> ann = table.Barrier(kAnn, "b", 3).value();
  const std::optional<uint64_t> bob = table.Barrier(kBob, "b", 3).value();
  ASSERT_TRUE(ann.has_value() && bob.has_value());
  EXPECT_THAT(table.TakeEnded(), IsEmpty());
  EXPECT_EQ(table.waiters().MostAwaitedKey(), "b");
  EXPECT_EQ(table.Barrier(kAnn, "b", 3).value(), std::nullopt);
  EXPECT_THAT(table.TakeEnded(), ElementsAre(Waiters::Wait{*ann, kAnn}, Waiters::Wait{*bob, kBob}));
}

TEST(KeyValueTableTest, ABarrierCountsOnAndIsAKey) {
  KeyValueTable table;
  EXPECT_EQ(table.Barrier(kAnn, "b", 1).value(), std::nullopt);
  EXPECT_EQ(table.Barrier(kAnn, "b", 1).value(), std::nullopt);
  EXPECT_EQ(table.Get("b"), "2");
}

TEST(KeyValueTableTest, ABarrierOnWhatIsNoNumberIsRefused) {
  KeyValueTable table;
  ASSERT_OK(table.Set("b", "x"));
  EXPECT_THAT(table.Barrier(kAnn, "b", 2),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a number")));
  EXPECT_EQ(table.waiters().size(), 0u);
}

TEST(KeyValueTableTest, NeverGrowsBeyondItsLimit) {
  KeyValueTable table(/*max_bytes=*/2 * kEntryOverhead + 10);
  ASSERT_OK(table.Set("k", "1234"));
  ASSERT_OK(table.QueuePush("q", "5678"));
  EXPECT_EQ(table.bytes(), 2 * kEntryOverhead + 10);
  const auto full = StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 138"));
  EXPECT_THAT(table.Set("k", "12345"), full);
  EXPECT_THAT(table.Set("l", ""), full);
  EXPECT_THAT(table.Append("k", "5"), full);
  EXPECT_THAT(table.QueuePush("q", ""), full);
  EXPECT_THAT(table.Add("n", 1), full);
  EXPECT_THAT(table.Barrier(kAnn, "b", 2), full);
  EXPECT_THAT(table.CompareSet("k", "1234", "12345"), full);
  EXPECT_EQ(table.Get("k"), "1234");
  EXPECT_EQ(table.waiters().size(), 0u);
}

TEST(KeyValueTableTest, GivesBackWhatIsRemoved) {
  KeyValueTable table;
  ASSERT_OK(table.Set("k", "1234"));
  ASSERT_OK(table.Append("k", "56"));
  ASSERT_OK(table.Set("k", "1"));
  ASSERT_OK(table.QueuePush("q", "5678"));
  ASSERT_OK(table.Add("n", 100));
  EXPECT_EQ(table.bytes(), 3 * kEntryOverhead + 2 + 5 + 4);
  table.DeleteKey("k");
  table.DeleteKey("n");
  table.QueuePop("q");
  EXPECT_EQ(table.bytes(), 0u);
}

}  // namespace
}  // namespace hpc::worker::store

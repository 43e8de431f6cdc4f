#include "worker/rendezvous/reply_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ReplyQueueTest, WhatIsKnownAtOnceIsReady) {
  ReplyQueue replies;
  *replies.tail() += "a";
  *replies.tail() += "b";
  EXPECT_EQ(replies.ready(), "ab");
}

TEST(ReplyQueueTest, WhatWasSentIsGone) {
  ReplyQueue replies;
  *replies.tail() += "abc";
  replies.Sent(1);
  EXPECT_EQ(replies.ready(), "bc");
  *replies.tail() += "d";
  replies.Sent(3);
  EXPECT_EQ(replies.ready(), "");
  EXPECT_EQ(replies.bytes(), 0u);
}

TEST(ReplyQueueTest, HoldsBackWhatFollowsADeferredAnswer) {
  ReplyQueue replies;
  *replies.tail() += "a";
  replies.Defer(7);
  *replies.tail() += "c";
  EXPECT_EQ(replies.ready(), "a");
  EXPECT_EQ(replies.bytes(), 2u);
  EXPECT_THAT(replies.deferred(), ElementsAre(7));
  replies.Resolve(7, "b");
  EXPECT_EQ(replies.ready(), "abc");
  EXPECT_THAT(replies.deferred(), IsEmpty());
}

TEST(ReplyQueueTest, DeferredAnswersKeepTheOrderOfTheirRequests) {
  ReplyQueue replies;
  replies.Defer(1);
  *replies.tail() += "b";
  replies.Defer(2);
  *replies.tail() += "d";
  replies.Resolve(2, "c");
  EXPECT_EQ(replies.ready(), "");
  EXPECT_THAT(replies.deferred(), ElementsAre(1));
  replies.Resolve(1, "a");
  EXPECT_EQ(replies.ready(), "abcd");
}

TEST(ReplyQueueTest, ARequestCanBePassedOver) {
  ReplyQueue replies;
  replies.Defer(1);
  *replies.tail() += "b";
  replies.Resolve(1, "");
  EXPECT_EQ(replies.ready(), "b");
}

}  // namespace
}  // namespace hpc::worker::store

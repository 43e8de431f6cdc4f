#include "member/http2/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <random>
#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace hpc::wire {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Framed(const std::string& message) {
  std::string framed(5, '\0');
  for (int i = 0; i < 4; ++i) framed[4 - i] = static_cast<char>(message.size() >> (8 * i));
  return framed + message;
}

TEST(AnswerTest, MessagesAreTheSameHoweverTheirBytesCome) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&random](size_t n) { return random() % n; };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> sent, got;
    std::string bytes;
    for (size_t i = below(6); i > 0; --i) {
      sent.emplace_back(below(2) == 0 ? 0 : below(70'000), static_cast<char>('a' + below(26)));
      bytes += Framed(sent.back());
    }
    Answer answer;
    while (!bytes.empty()) {
      const std::string piece = bytes.substr(0, 1 + below(below(2) == 0 ? 9 : 40'000));
      bytes.erase(0, piece.size());
      answer.AddData(piece);
      if (below(3) == 0 && !bytes.empty()) continue;
      const size_t before = answer.left();
      absl::StatusOr<size_t> taken = 1;
      size_t all = 0;
      while (taken.ok() && *taken > 0) {
        taken = answer.TakeMessages(1 + below(100'000), [&got](absl::string_view message) {
          got.emplace_back(message);
          return absl::OkStatus();
        });
        ASSERT_OK(taken.status());
        all += *taken;
      }
      ASSERT_EQ(answer.left(), before - all);
    }
    ASSERT_EQ(got, sent);
    answer.AddHeader("grpc-status", "0");
    ASSERT_OK(answer.status());
  }
}

TEST(AnswerTest, ItsEndIsInTheCoordinatorsWords) {
  Answer answer;
  answer.AddHeader(":status", "200");
  answer.AddHeader("grpc-message", "run 3 is bert%27s%0a\xC3\xA4 100%");
  answer.AddHeader("grpc-status", "7");
  EXPECT_THAT(answer.status(),
              StatusIs(absl::StatusCode::kPermissionDenied, "run 3 is bert's\n\xC3\xA4 100%"));
  answer.AddHeader("grpc-message", "%9b[31m");
  EXPECT_THAT(answer.status(), StatusIs(absl::StatusCode::kPermissionDenied, "\xEF\xBF\xBD[31m"))
      << "no terminal is to obey it";
}

TEST(AnswerTest, AnErrorOfWhoTakesMessagesEndsIt) {
  Answer answer;
  answer.AddData(Framed("one") + Framed("two"));
  int taken = 0;
  EXPECT_THAT(answer
                  .TakeMessages(100,
                                [&taken](absl::string_view) {
                                  ++taken;
                                  return absl::AbortedError("enough");
                                })
                  .status(),
              StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_EQ(taken, 1);
}

TEST(AnswerTest, NoMoreIsHandedOnThanWasAskedFor) {
  Answer answer;
  answer.AddData(Framed("one") + Framed("two") + Framed("three"));
  std::vector<std::string> got;
  const auto take = [&](size_t most) {
    return *answer.TakeMessages(most, [&got](absl::string_view message) {
      got.emplace_back(message);
      return absl::OkStatus();
    });
  };
  EXPECT_EQ(take(9), 16) << "a message is not cut";
  EXPECT_THAT(got, ElementsAre("one", "two"));
  EXPECT_EQ(answer.left(), 10);
  EXPECT_EQ(take(9), 10);
  EXPECT_EQ(take(9), 0);
  EXPECT_THAT(got, ElementsAre("one", "two", "three"));
}

TEST(AnswerTest, WhatIsNoAnswerOfGrpcIsAnError) {
  const auto none = [](absl::string_view) { return absl::OkStatus(); };
  Answer compressed;
  compressed.AddData(std::string("\1\0\0\0\1x", 6));
  EXPECT_THAT(compressed.TakeMessages(1, none).status(), StatusIs(absl::StatusCode::kInternal, _));

  Answer endless;
  endless.AddData(std::string("\0\x7f\xff\xff\xf0x", 6));
  EXPECT_THAT(endless.TakeMessages(1, none).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("2147483632 bytes")));

  Answer cut;
  cut.AddData(Framed("whole").substr(0, 7));
  EXPECT_EQ(*cut.TakeMessages(1, none), 0);
  cut.AddHeader("grpc-status", "0");
  EXPECT_THAT(cut.status(), StatusIs(absl::StatusCode::kInternal, HasSubstr("within a message")));

  Answer page;
  page.AddHeader(":status", "404");
  EXPECT_THAT(page.status(), StatusIs(absl::StatusCode::kUnknown, HasSubstr("404")));
}

TEST(AnswerTest, WhoIsCutOffIsToldWhetherToTryAgain) {
  const auto cut_off_by = [](uint32_t code) {
    Answer answer;
    answer.Reset(code);
    return answer.status().code();
  };
  EXPECT_EQ(cut_off_by(NGHTTP2_REFUSED_STREAM), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cut_off_by(NGHTTP2_CANCEL), absl::StatusCode::kCancelled);
  EXPECT_EQ(cut_off_by(NGHTTP2_PROTOCOL_ERROR), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace hpc::wire

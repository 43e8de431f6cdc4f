#include "train/check/link_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "train/net/own_address.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

ProbeOptions Quick(const std::string& word) {
  return {.word = word, .measure = milliseconds(5), .patience = milliseconds(2000)};
}

class LinkProbeTest : public ::testing::Test {
 protected:
  const std::string word_ = RandomWord();
  std::string endpoint_;
  const UniqueFd listener_ = Listen("127.0.0.1", &endpoint_);
};

TEST_F(LinkProbeTest, MeasuresBothWays) {
  std::thread answering([&] { AnswerProbe(listener_.get(), Quick(word_)); });
  const LinkSpeed speed = MeasureLink(endpoint_, Quick(word_));
  answering.join();
  EXPECT_GT(speed.round_trip, 0);
  EXPECT_LT(speed.round_trip, 0.1);
  EXPECT_GT(speed.there, 1e6);
  EXPECT_GT(speed.back, 1e6);
}

TEST_F(LinkProbeTest, AStrangerIsNotAnsweredAndHoldsNobodyUp) {
  std::thread answering([&] { AnswerProbe(listener_.get(), Quick(word_)); });
  EXPECT_THROW(MeasureLink(endpoint_, Quick(RandomWord())), std::runtime_error);
  EXPECT_GT(MeasureLink(endpoint_, Quick(word_)).there, 0);
  answering.join();
}

TEST_F(LinkProbeTest, WhatIsWrongIsSaid) {
  EXPECT_THAT([&] { AnswerProbe(listener_.get(), {.word = word_, .patience = milliseconds(5)}); },
              ThrowsMessage<std::runtime_error>(HasSubstr("nobody called")));
  EXPECT_THAT([&] { MeasureLink("127.0.0.1:1", Quick(word_)); },
              ThrowsMessage<std::runtime_error>(
                  HasSubstr("no connection to 127.0.0.1:1: Connection refused")));
}

}  // namespace
}  // namespace hpc::train

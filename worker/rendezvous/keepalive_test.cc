#include "worker/rendezvous/keepalive.h"

#include <gtest/gtest.h>

namespace hpc::worker::store {
namespace {

const Keepalive kAsked{
    {12, 3}, 2, Vouch::kYes, {absl::Seconds(5)}, {absl::Nanoseconds(4'999'999'999)}};

TEST(KeepaliveTest, WhatIsEncodedIsDecoded) {
  const std::string bytes = Encode(kAsked);
  EXPECT_EQ(bytes.size(), kKeepaliveBytes);
  EXPECT_EQ(bytes[0], 'K');
  EXPECT_EQ(DecodeKeepalive(bytes), kAsked);
  Keepalive for_good = kAsked;
  for_good.vouch = Vouch::kForGood;
  EXPECT_EQ(DecodeKeepalive(Encode(for_good)), for_good);
  const std::optional<absl::Duration> unknown, ago = absl::Milliseconds(250),
                                               now = absl::ZeroDuration();
  for (const auto& [whole, heard] :
       {std::pair(unknown, unknown), {unknown, ago}, {unknown, now}, {ago, ago}, {now, now}}) {
    const KeepaliveAnswer answer{{absl::Seconds(5)}, {absl::Seconds(7)}, whole, heard};
    EXPECT_EQ(Encode(answer).size(), kKeepaliveAnswerBytes);
    EXPECT_EQ(DecodeKeepaliveAnswer(Encode(answer)), answer);
  }
}

TEST(KeepaliveTest, WhatIsNoneIsRefused) {
  const std::string bytes = Encode(kAsked);
  EXPECT_FALSE(DecodeKeepalive(bytes.substr(1)));
  EXPECT_FALSE(DecodeKeepalive(bytes + "x"));
  EXPECT_FALSE(DecodeKeepalive(std::string(kKeepaliveBytes, '\0')));
  std::string unknown = bytes;
  unknown[17] = 3;  // not a value of Vouch
  EXPECT_FALSE(DecodeKeepalive(unknown));
  std::string negative = bytes;
  negative[25] = '\xff';  // the last byte of a time
  EXPECT_FALSE(DecodeKeepalive(negative));
  EXPECT_FALSE(DecodeKeepaliveAnswer(std::string(kKeepaliveAnswerBytes, '\x80')));
}

}  // namespace
}  // namespace hpc::worker::store

#include "train/net/sockets.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;

TEST(SocketsTest, KnowsWhichAddressesNoOtherPcReaches) {
  for (const char* here : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.1.1"}) {
    EXPECT_TRUE(IsLoopback(here)) << here;
  }
  for (const char* reached : {"192.168.1.20", "10.127.0.1", "fd00::1", "128.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(reached)) << reached;
  }
}

TEST(SocketsTest, ANameIsConnectedToByWhicheverOfItsAddressesAnswers) {
  std::string endpoint;
  const UniqueFd listener = Listen("127.0.0.1", &endpoint);
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  EXPECT_TRUE(ConnectToAnyOf("localhost", port, milliseconds(5000)).socket.ok());
  EXPECT_THAT([&] { ConnectToAnyOf("no.such.name.invalid", port, milliseconds(5000)); },
              ::testing::ThrowsMessage<std::runtime_error>(
                  ::testing::HasSubstr("'no.such.name.invalid' is no address and no name")));
}

TEST(SocketsTest, WhatNobodyListensAtIsRefused) {
  std::string endpoint;
  { const UniqueFd gone = Listen("127.0.0.1", &endpoint); }
  const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  EXPECT_EQ(ConnectToAnyOf("127.0.0.1", port, milliseconds(5000)).error, ECONNREFUSED);
}

}  // namespace
}  // namespace hpc::train

#include "coordinator/runtime/wake_on_lan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MagicPacket, IsSixTimesAllOnesAndTheAddressSixteenTimes) {
  const std::string packet = *MagicPacket("00:1a:2B:3c:4d:5e");
  ASSERT_EQ(packet.size(), 102U);
  EXPECT_EQ(packet.substr(0, 6), "\xff\xff\xff\xff\xff\xff");
  for (size_t i = 6; i < packet.size(); i += 6) {
    EXPECT_EQ(packet.substr(i, 6), std::string("\x00\x1a\x2b\x3c\x4d\x5e", 6)) << i;
  }
}

TEST(MagicPacket, DashesAreAsGoodAsColons) {
  EXPECT_EQ(*MagicPacket("00-1a-2b-3c-4d-5e"), *MagicPacket("00:1a:2b:3c:4d:5e"));
}

TEST(MagicPacket, WhatIsNoHardwareAddressIsNamed) {
  for (const char* mac :
       {"", "00:1a:2b:3c:4d", "00:1a:2b:3c:4d:5g", "001a2b3c4d5e00000", "00:00:00:00:00:00"}) {
    EXPECT_THAT(MagicPacket(mac), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(mac)));
  }
}

TEST(WakeAddresses, TheSubnetsBroadcastAndEverybody) {
  EXPECT_THAT(WakeAddresses({.broadcast = "192.168.1.255"}),
              ElementsAre("192.168.1.255", "255.255.255.255"));
  EXPECT_THAT(WakeAddresses({}), ElementsAre("255.255.255.255"));
}

TEST(WakeOnLan, SendsThePacketToTheInterfacesBroadcastAddress) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);

  WakeOnLan wake(ntohs(address.sin_port));
  ASSERT_OK(
      wake.Wake({.node = "pc1",
                 .interfaces = {{.name = "wifi"},
                                {.mac = "00:1a:2b:3c:4d:5e", .broadcast = "127.255.255.255"}}}));
  pollfd wait{fd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 5000), 1);
  char buffer[200];
  const ssize_t got = recv(fd.get(), buffer, sizeof(buffer), 0);
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(got)), *MagicPacket("00:1a:2b:3c:4d:5e"));
}

TEST(WakeOnLan, ANodeWithoutAHardwareAddressCannotBeWoken) {
  EXPECT_THAT(WakeOnLan().Wake({.node = "pc1", .interfaces = {{.name = "wifi"}}}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("pc1")));
}

}  // namespace
}  // namespace hpc::coordinator

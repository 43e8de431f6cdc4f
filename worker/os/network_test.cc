#include "worker/os/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using Family = InterfaceAddress::Family;
using ::hpc::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

InterfaceAddress Link(std::string name, std::string mac) {
  return {.interface = std::move(name), .family = Family::kLink, .up = true, .address = mac};
}

InterfaceAddress Ipv4(std::string name, std::string address, int prefix, std::string broadcast) {
  return {.interface = std::move(name),
          .family = Family::kIpv4,
          .up = true,
          .address = std::move(address),
          .prefix_length = prefix,
          .broadcast = std::move(broadcast)};
}

InterfaceAddress Ipv6(std::string name, std::string address) {
  return {.interface = std::move(name),
          .family = Family::kIpv6,
          .up = true,
          .address = std::move(address),
          .prefix_length = 64};
}

InterfaceAddress Loopback() {
  InterfaceAddress lo = Ipv4("lo", "127.0.0.1", 8, "");
  lo.loopback = true;
  return lo;
}

TEST(SelectInterfaces, JoinsTheMacAndTheAddressOfAnInterface) {
  EXPECT_THAT(SelectInterfaces({Link("eth0", "aa:bb:cc:00:11:22"),
                                Ipv4("eth0", "192.168.1.20", 24, "192.168.1.255")}),
              ElementsAre(protocol::NetworkInterface{.name = "eth0",
                                                     .address = "192.168.1.20",
                                                     .mac = "aa:bb:cc:00:11:22",
                                                     .broadcast = "192.168.1.255"}));
}

TEST(SelectInterfaces, PrefersTheFirstIpv4Address) {
  EXPECT_THAT(
      SelectInterfaces({Ipv6("eth0", "2001:db8::7"), Ipv4("eth0", "10.0.0.2", 24, "10.0.0.255"),
                        Ipv4("eth0", "10.9.9.9", 24, "10.9.9.255")}),
      ElementsAre(protocol::NetworkInterface{
          .name = "eth0", .address = "10.0.0.2", .broadcast = "10.0.0.255"}));
}

TEST(SelectInterfaces, TakesAGlobalIpv6AddressWhereThereIsNoOther) {
  EXPECT_THAT(SelectInterfaces({Ipv6("eth0", "fe80::1"), Ipv6("eth0", "2001:db8::7")}),
              ElementsAre(protocol::NetworkInterface{.name = "eth0", .address = "2001:db8::7"}));
}

TEST(SelectInterfaces, LeavesOutWhatIsDownOrHasNoUsableAddress) {
  InterfaceAddress down = Ipv4("eth1", "10.0.0.3", 24, "10.0.0.255");
  down.up = false;
  EXPECT_THAT(SelectInterfaces({down, Link("eth2", "aa:bb:cc:00:11:22"), Ipv6("wlan0", "fe80::2")}),
              IsEmpty());
}

TEST(SelectInterfaces, HasTheLoopbackOnlyWhereThereIsNothingElse) {
  const protocol::NetworkInterface lo = {.name = "lo", .address = "127.0.0.1"};
  const protocol::NetworkInterface eth = {
      .name = "eth0", .address = "10.0.0.2", .broadcast = "10.0.0.255"};
  EXPECT_THAT(SelectInterfaces({Loopback(), Ipv4("eth0", "10.0.0.2", 24, "10.0.0.255")}),
              ElementsAre(eth));
  EXPECT_THAT(SelectInterfaces({Loopback(), Link("eth0", "aa:bb:cc:00:11:22")}), ElementsAre(lo));
}

TEST(FindInterfaceOf, IsTheOneWithExactlyThatAddress) {
  const std::vector<InterfaceAddress> addresses = {Loopback(), Ipv4("eth0", "10.0.0.2", 24, ""),
                                                   Ipv6("eth1", "2001:db8::7")};
  EXPECT_EQ(FindInterfaceOf(addresses, "10.0.0.2").value(), "eth0");
  EXPECT_EQ(FindInterfaceOf(addresses, "2001:db8:0::7").value(), "eth1");
  EXPECT_THAT(FindInterfaceOf(addresses, "10.0.0.3"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("10.0.0.3")));
  EXPECT_THAT(FindInterfaceOf(addresses, "pc2"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("pc2")));
}

TEST(FindInterfaceOf, HoldsTheWholeLoopbackSubnet) {
  EXPECT_EQ(FindInterfaceOf({Loopback()}, "127.0.0.14").value(), "lo");
  EXPECT_THAT(FindInterfaceOf({Loopback()}, "128.0.0.1"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("128.0.0.1")));
}

TEST(CheckOwnAddress, NamesTheAddressesThatThereAre) {
  const std::vector<InterfaceAddress> addresses = {Link("eth0", "aa:bb:cc:00:11:22"), Loopback(),
                                                   Ipv4("eth0", "10.0.0.2", 24, ""),
                                                   Ipv6("eth0", "fe80::1")};
  EXPECT_OK(CheckOwnAddress(addresses, "10.0.0.2"));
  EXPECT_OK(CheckOwnAddress(addresses, "127.0.0.14"));
  EXPECT_THAT(CheckOwnAddress(addresses, "nonsense"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "'nonsense' is not an IP address of this machine; it has 127.0.0.1 (lo), "
                       "10.0.0.2 (eth0)"));
}

TEST(ReadInterfaceSpeed, IsZeroWhereTheKernelDoesNotKnowIt) {
  const std::string root = ::testing::TempDir() + "/speed_root";
  for (const auto& [name, text] :
       {std::pair("eth0", "2500\n"), std::pair("veth0", "-1\n"), std::pair("wlan0", "")}) {
    std::filesystem::create_directories(root + "/sys/class/net/" + name);
    std::ofstream(root + "/sys/class/net/" + name + "/speed") << text;
  }
  EXPECT_EQ(ReadInterfaceSpeed(root, "eth0"), 2500);
  EXPECT_EQ(ReadInterfaceSpeed(root, "veth0"), 0);
  EXPECT_EQ(ReadInterfaceSpeed(root, "wlan0"), 0);
  EXPECT_EQ(ReadInterfaceSpeed(root, "no_such"), 0);
}

TEST(FindSourceAddress, OfALoopbackPeerIsTheLoopback) {
  EXPECT_EQ(FindSourceAddress("127.0.0.1").value(), "127.0.0.1");
}

TEST(FindSourceAddress, RefusesWhatIsNoIpAddress) {
  for (const char* peer : {"", "pc2", "10.0.0.256", "10.0.0.1:7077"}) {
    EXPECT_THAT(FindSourceAddress(peer),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not an IP address")))
        << peer;
  }
}

TEST(FindSourceAddress, SaysThatThereIsNoRoute) {
  // 255.255.255.255 needs SO_BROADCAST, which a plain socket lacks, so it is refused everywhere.
  EXPECT_THAT(FindSourceAddress("255.255.255.255"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("to 255.255.255.255")));
}

TEST(ListInterfaceAddresses, HasTheLoopback) {
  EXPECT_EQ(FindInterfaceOf(ListInterfaceAddresses(), "127.0.0.1").value(), "lo");
}

}  // namespace
}  // namespace hpc::worker

#include "coordinator/rpc/doors/guest_book.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <deque>

#include "common/testing/at.h"
#include "coordinator/rpc/doors/remote_address.h"

namespace hpc::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr GuestLimits kLimits = {
    .total = 5, .per_address = 2, .loopback = 3, .patience = absl::Seconds(30)};

sockaddr_storage Peer(const char* address, int port) {
  sockaddr_storage peer{};
  auto& four = reinterpret_cast<sockaddr_in&>(peer);
  if (inet_pton(AF_INET, address, &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    return peer;
  }
  auto& six = reinterpret_cast<sockaddr_in6&>(peer);
  EXPECT_EQ(inet_pton(AF_INET6, address, &six.sin6_addr), 1) << address;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  return peer;
}

class GuestBookTest : public ::testing::Test {
 protected:
  struct Connection {
    UniqueFd ours, theirs;
    // Whether the book has ended the connection.
    bool Ended() const {
      pollfd polled{theirs.get(), POLLIN, 0};
      return poll(&polled, 1, 0) == 1 && (polled.revents & POLLHUP) != 0;
    }
  };

  Connection& Connect(const char* address, int port, double seconds) {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    Connection& connection =
        connections_.emplace_back(Connection{UniqueFd(fds[0]), UniqueFd(fds[1])});
    left_ = book_.Enter(connection.ours.get(), Peer(address, port), At(seconds));
    return connection;
  }

  GuestBook book_{kLimits};
  std::deque<Connection> connections_;
  std::vector<GuestBook::Leave> left_;  // the guests that the last Connect sent away
};

TEST_F(GuestBookTest, EndsTheFirstOneOfAnAddressThatHasTooMany) {
  const Connection& first = Connect("10.0.0.7", 1, 0);
  const Connection& other = Connect("10.0.0.8", 1, 0);
  const Connection& second = Connect("10.0.0.7", 2, 0);
  EXPECT_THAT(left_, IsEmpty());
  const Connection& third = Connect("10.0.0.7", 3, 0);
  EXPECT_TRUE(first.Ended());
  EXPECT_FALSE(other.Ended() || second.Ended() || third.Ended());
  ASSERT_EQ(left_.size(), 1);
  EXPECT_EQ(left_[0].address, "10.0.0.7");
  EXPECT_THAT(left_[0].reason, HasSubstr("2 of this address"));
}

TEST_F(GuestBookTest, TakesAllAddressesOfOneIPv6NetworkForOne) {
  const Connection& first = Connect("2001:db8:0:1::1", 1, 0);
  const Connection& other = Connect("2001:db8:0:2::1", 1, 0);
  Connect("2001:db8:0:1::2", 1, 0);
  EXPECT_THAT(left_, IsEmpty());
  Connect("2001:db8:0:1:ffff::3", 1, 0);
  EXPECT_TRUE(first.Ended());
  EXPECT_FALSE(other.Ended());
  ASSERT_EQ(left_.size(), 1);
  EXPECT_EQ(left_[0].address, "2001:db8:0:1:ffff::3");
  EXPECT_THAT(left_[0].reason, HasSubstr("2 of 2001:db8:0:1::/64"));
}

TEST_F(GuestBookTest, EndsTheFirstOneOfAllWhereThereAreTooMany) {
  const Connection& first = Connect("10.0.0.1", 1, 0);
  for (const char* address : {"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5"}) {
    Connect(address, 1, 0);
    EXPECT_THAT(left_, IsEmpty());
  }
  Connect("10.0.0.6", 1, 0);
  EXPECT_TRUE(first.Ended());
  ASSERT_EQ(left_.size(), 1);
  EXPECT_EQ(left_[0].address, "10.0.0.1");
  EXPECT_THAT(left_[0].reason, HasSubstr("5 in all"));
}

TEST_F(GuestBookTest, HasMoreRoomForThisMachineButNotAll) {
  const Connection& first = Connect("127.0.0.1", 1, 0);
  Connect("127.0.0.1", 2, 0);
  Connect("127.0.0.1", 3, 0);
  EXPECT_FALSE(first.Ended());
  Connect("127.0.0.1", 4, 0);
  EXPECT_TRUE(first.Ended());
}

TEST_F(GuestBookTest, DoesNotCountThoseThatHaveGone) {
  const Connection& first = Connect("10.0.0.7", 1, 0);
  Connect("10.0.0.7", 2, 0).ours.Reset();
  Connect("10.0.0.7", 3, 0);
  EXPECT_FALSE(first.Ended());
  EXPECT_THAT(left_, IsEmpty());
}

TEST_F(GuestBookTest, ForgetsAtOnceWhoIsSaidToHaveLeft) {
  const Connection& first = Connect("10.0.0.7", 1, 0);
  book_.Left(EndpointOf(Peer("10.0.0.7", 1)));
  EXPECT_EQ(book_.NextDeadline(), MonoTime::Infinite());
  const Connection& second = Connect("10.0.0.7", 2, 0);
  Connect("10.0.0.7", 3, 0);
  EXPECT_FALSE(first.Ended());
  EXPECT_FALSE(second.Ended());
}

TEST_F(GuestBookTest, DoesNotEndAnotherSocketThatHasGotTheNumber) {
  Connection& gone = Connect("10.0.0.7", 1, 0);
  const int number = gone.ours.Release();
  std::array<int, 2> fds{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  ASSERT_EQ(dup3(fds[0], number, O_CLOEXEC), number);
  const Connection another = {UniqueFd(number), UniqueFd(fds[1])};
  EXPECT_THAT(book_.EndOverdue(At(31)), IsEmpty());
  EXPECT_FALSE(another.Ended());
  close(fds[0]);
}

TEST_F(GuestBookTest, LetsMembersStay) {
  const Connection& member = Connect("10.0.0.7", 5012, 0);
  const Connection& neighbour = Connect("fe80::1", 5012, 1);
  book_.Vouch("ipv4:10.0.0.7:5012");
  book_.Vouch("ipv6:%5Bfe80::1%25eth0%5D:5012");
  book_.Vouch("ipv4:10.0.0.9:5012");
  EXPECT_EQ(book_.NextDeadline(), MonoTime::Infinite());
  for (int port = 1; port <= 9; ++port) Connect("10.0.0.7", port, 2);
  EXPECT_EQ(book_.EndOverdue(At(100)).size(), 2);
  EXPECT_FALSE(member.Ended() || neighbour.Ended());
}

TEST_F(GuestBookTest, EndsWhoShowsNothingForTooLong) {
  const Connection& first = Connect("10.0.0.7", 1, 0);
  const Connection& second = Connect("10.0.0.8", 1, 10);
  EXPECT_EQ(book_.NextDeadline(), At(30));
  EXPECT_THAT(book_.EndOverdue(At(29)), IsEmpty());
  const auto left = book_.EndOverdue(At(30));
  ASSERT_EQ(left.size(), 1);
  EXPECT_EQ(left[0].address, "10.0.0.7");
  EXPECT_THAT(left[0].reason, HasSubstr("30s"));
  EXPECT_TRUE(first.Ended());
  EXPECT_FALSE(second.Ended());
}

TEST_F(GuestBookTest, TakesAPortThatIsUsedAgainForAnotherGuest) {
  Connect("10.0.0.7", 1, 0).ours.Reset();
  const Connection& again = Connect("10.0.0.7", 1, 20);
  EXPECT_EQ(book_.NextDeadline(), At(50));
  EXPECT_FALSE(again.Ended());
}

TEST(GuestLimitsTest, LeaveHalfOfTheDescriptorsToMembers) {
  const GuestLimits few = GuestLimitsOf({.tcp_end = 704, .local_end = 960});
  EXPECT_EQ(few.total, 352);
  EXPECT_EQ(few.loopback, 176);
  EXPECT_EQ(few.per_address, 88);
  const GuestLimits many = GuestLimitsOf({.tcp_end = 49088, .local_end = 65472});
  EXPECT_EQ(many.total, 8192);
  EXPECT_EQ(many.loopback, 4096);
  EXPECT_EQ(many.per_address, 256);
}

TEST(RemoteAddressTest, NetworkIsTheSubscribers) {
  EXPECT_EQ(NetworkOf("10.0.0.7"), "10.0.0.7");
  EXPECT_EQ(NetworkOf("2001:db8:1:2:3::4"), "2001:db8:1:2::/64");
  EXPECT_EQ(NetworkOf("::1"), "::1");
  EXPECT_EQ(NetworkOf(""), "");
}

TEST(RemoteAddressTest, OfIPv4IsTheSameAtASocketOfBoth) {
  EXPECT_EQ(EndpointOf(Peer("::ffff:10.0.0.7", 5012)), "10.0.0.7:5012");
  EXPECT_EQ(EndpointOfPeer("ipv4:10.0.0.7:5012"), "10.0.0.7:5012");
  EXPECT_TRUE(IsLoopback(AddressOf(Peer("::ffff:127.0.0.1", 1))));
  EXPECT_FALSE(IsLoopback(AddressOf(Peer("10.127.0.1", 1))));
}

}  // namespace
}  // namespace hpc::coordinator

#include "coordinator/rpc/doors/member_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <deque>

#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

class MemberBookTest : public ::testing::Test {
 protected:
  struct Peer {
    UniqueFd ours, theirs;
  };

  Peer& Connect() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    return peers_.emplace_back(Peer{UniqueFd(fds[0]), UniqueFd(fds[1])});
  }
  absl::Status Enter(const std::string& member, const Peer& peer) {
    return book_.Enter(member, OpenSocket(peer.ours.get()));
  }

  MemberBook book_{2};
  std::deque<Peer> peers_;
};

TEST_F(MemberBookTest, OneMemberMayHaveSoMany) {
  EXPECT_OK(Enter("worker pc1", Connect()));
  EXPECT_OK(Enter("worker pc1", Connect()));
  EXPECT_THAT(Enter("worker pc1", Connect()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("worker pc1 has 2 connections open")));
  EXPECT_OK(Enter("user anna", Connect()));
}

TEST_F(MemberBookTest, ThoseThatHaveGoneDoNotCount) {
  auto& first = Connect();
  EXPECT_OK(Enter("worker pc1", first));
  EXPECT_OK(Enter("worker pc1", Connect()));
  first.ours.Reset();
  EXPECT_OK(Enter("worker pc1", Connect()));
}

TEST(ConnectionsPerMemberTest, IsAPartOfWhatThereIs) {
  EXPECT_EQ(ConnectionsPerMember({.tcp_end = 800, .local_end = 1000}), 100);
  EXPECT_EQ(ConnectionsPerMember({.tcp_end = 1'000'000, .local_end = 1'010'000}), 512);
}

}  // namespace
}  // namespace hpc::coordinator

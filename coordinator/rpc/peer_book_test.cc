#include "coordinator/rpc/peer_book.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

struct Pair {
  UniqueFd ours, theirs;
};

Pair Connect() {
  std::array<int, 2> fds{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST(PeerBookTest, KnowsWhoConnected) {
  PeerBook book;
  Pair pair = Connect();
  const auto fd = book.Enter(std::move(pair.ours));
  ASSERT_OK(fd);
  const auto peer = book.Find(absl::StrCat("fd:", fd->get()));
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->uid, getuid());
  EXPECT_THAT(peer->groups, ::testing::Contains(getgid()));
  EXPECT_NE(peer->account, "");
}

TEST(PeerBookTest, KnowsNobodyElse) {
  const PeerBook book;
  for (const char* peer : {"fd:3", "ipv4:127.0.0.1:80", "unix:", "fd:", "fd:x"}) {
    EXPECT_FALSE(book.Find(peer)) << peer;
  }
}

TEST(PeerBookTest, DoesNotUseADescriptorAgainSoon) {
  PeerBook book;
  int before = -1;
  for (int i = 0; i < 100; ++i) {
    Pair pair = Connect();
    const auto fd = book.Enter(std::move(pair.ours));
    ASSERT_OK(fd);
    EXPECT_NE(fd->get(), before);
    before = fd->get();
  }
}

}  // namespace
}  // namespace hpc::coordinator

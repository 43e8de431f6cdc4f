#include "coordinator/rpc/peer_book.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

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
  EXPECT_NE(peer->account, "");
}

// In a process of its own, which has these groups.
std::vector<gid_t> GroupsOfAPeerWith(gid_t primary, const std::vector<gid_t>& groups) {
  std::array<int, 2> answer{};
  EXPECT_EQ(pipe(answer.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool set = setgroups(groups.size(), groups.data()) == 0 && setgid(primary) == 0;
    PeerBook book;
    const auto fd = book.Enter(Connect().ours);
    const auto peer = set && fd.ok() ? book.Find(absl::StrCat("fd:", fd->get())) : std::nullopt;
    for (const gid_t group : peer ? peer->groups : std::vector<gid_t>{0}) {
      if (write(answer[1], &group, sizeof(group)) < 0) _exit(1);
    }
    _exit(0);
  }
  close(answer[1]);
  std::vector<gid_t> found;
  gid_t group = 0;
  while (read(answer[0], &group, sizeof(group)) == sizeof(group)) found.push_back(group);
  close(answer[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return found;
}

TEST(PeerBookTest, KnowsTheGroupsThatAnAccountWasMadeAMemberOf) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can have other groups";
  EXPECT_THAT(GroupsOfAPeerWith(100, {4242, 4343}), ::testing::ElementsAre(4242, 4343));
  // As initgroups(3) does, which lists the primary one too: the account hpc of the ranks.
  EXPECT_THAT(GroupsOfAPeerWith(4242, {4242, 4343}), ::testing::ElementsAre(4343));
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

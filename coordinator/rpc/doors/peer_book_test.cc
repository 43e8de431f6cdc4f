#include "coordinator/rpc/doors/peer_book.h"

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

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

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

// Asks in a process of its own, which has these groups.
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
  // initgroups(3) lists the primary group, too, as it does for the account hpc of the ranks.
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

// A range of eight numbers. Accounts like ours get six of them, and one such account gets four.
PeerLimits Strict() {
  return {.first = 500, .last = 508, .per_account = 4, .without_limit = {}, .all_accounts = 6};
}

TEST(PeerBookTest, LetsAnAccountHaveSoManyConnectionsAndNoMore) {
  PeerBook book(Strict());
  std::vector<UniqueFd> open;
  for (int i = 0; i < 4; ++i) {
    auto fd = book.Enter(Connect().ours);
    ASSERT_OK(fd);
    open.push_back(*std::move(fd));
  }
  EXPECT_THAT(book.Enter(Connect().ours),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("account"), HasSubstr("has 4 connections"))));
  open.pop_back();
  EXPECT_OK(book.Enter(Connect().ours));
}

TEST(PeerBookTest, KeepsRoomForThoseWithoutALimit) {
  PeerLimits limits = Strict();
  limits.per_account = 100;
  PeerBook book(limits);
  std::vector<UniqueFd> open;
  for (int i = 0; i < 6; ++i) {
    auto fd = book.Enter(Connect().ours);
    ASSERT_OK(fd);
    open.push_back(*std::move(fd));
  }
  EXPECT_THAT(book.Enter(Connect().ours),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("kept for root")));
}

TEST(PeerBookTest, GivesNoDescriptorOutsideOfItsRange) {
  PeerLimits limits = Strict();
  limits.without_limit = {geteuid()};
  PeerBook book(limits);
  std::vector<UniqueFd> open;
  for (int i = 0; i < 8; ++i) {
    auto fd = book.Enter(Connect().ours);
    ASSERT_OK(fd);
    EXPECT_GE(fd->get(), 500);
    EXPECT_LT(fd->get(), 508);
    open.push_back(*std::move(fd));
  }
  EXPECT_THAT(book.Enter(Connect().ours),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("LimitNOFILE")));
}

TEST(PeerBookTest, LimitsNeitherRootNorItsOwnAccount) {
  const PeerLimits limits = PeerLimitsOf({.tcp_end = 704, .local_end = 960});
  EXPECT_EQ(limits.without_limit, (std::set<uid_t>{0, geteuid()}));
  EXPECT_EQ(limits.per_account, 64);
  EXPECT_EQ(limits.all_accounts, 192);
}

}  // namespace
}  // namespace hpc::coordinator

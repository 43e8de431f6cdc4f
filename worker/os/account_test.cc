#include "worker/os/account.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files/files.h"
#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

TEST(FindAccountTest, AnAccountIsFoundByItsName) {
  const auto account = FindAccount("nobody");
  ASSERT_OK(account);
  EXPECT_EQ(account->name, "nobody");
  EXPECT_EQ(account->ids.uid, 65534u);
  EXPECT_THAT(account->ids.groups, Contains(account->ids.gid));
  EXPECT_EQ(account->home, "/nonexistent");
}

TEST(FindAccountTest, RootIsNoAccountForRanks) {
  EXPECT_THAT(FindAccount("root"), StatusIs(kPrecondition, HasSubstr("'root' is root's (uid 0")));
}

TEST(FindAccountTest, AnUnknownOneIsNamed) {
  EXPECT_THAT(FindAccount("no-such-account"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no account 'no-such-account'")));
}

TEST(AccountsTest, WithoutAMappingAllRunAsTheWorkerItself) {
  const Accounts accounts;
  EXPECT_EQ(accounts.Of("anna").value(), nullptr);
  EXPECT_EQ(accounts.Of("").value(), nullptr);
  EXPECT_THAT(accounts.All(), SizeIs(0));
}

TEST(AccountsTest, EachUserHasTheirOwnAndAllOthersOne) {
  const auto accounts = Accounts::Make({{"anna", "nobody"}, {"*", "games"}});
  ASSERT_OK(accounts);
  EXPECT_EQ(accounts->Of("anna").value()->name, "nobody");
  EXPECT_EQ(accounts->Of("bob").value()->name, "games");
  EXPECT_EQ(accounts->Of("").value()->name, "games");
  EXPECT_THAT(accounts->All(), SizeIs(2));
}

TEST(AccountsTest, WhoHasNoneIsTold) {
  const auto accounts = Accounts::Make({{"anna", "nobody"}});
  ASSERT_OK(accounts);
  EXPECT_THAT(accounts->Of("bob"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no account for runs of bob")));
  EXPECT_THAT(accounts->Of(""), StatusIs(absl::StatusCode::kNotFound, HasSubstr("without a user")));
}

TEST(AccountsTest, AccountsThatCannotBeHadAreRefused) {
  EXPECT_THAT(Accounts::Make({{"anna", "no-such-account"}}),
              StatusIs(kPrecondition, HasSubstr("anna cannot run as 'no-such-account'")));
  EXPECT_THAT(Accounts::Make({{"*", "root"}}),
              StatusIs(kPrecondition, HasSubstr("all others cannot run as 'root'")));
}

TEST(FileRightsTest, FilesAreThoseThatTheAccountMayReach) {
  if (geteuid() != 0) GTEST_SKIP() << "only root takes on other rights";
  const std::string path = ::testing::TempDir() + "hpc-rights-" + std::to_string(getpid());
  ASSERT_OK(WriteFileAtomically(path, "root's"));
  const Account nobody = FindAccount("nobody").value();
  {
    const FileRights rights(&nobody.ids);
    EXPECT_LT(open(path.c_str(), O_RDONLY | O_CLOEXEC), 0);
    EXPECT_NE(faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS), 0);
  }
  EXPECT_EQ(faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS), 0);
  EXPECT_EQ(ReadFile(path).value(), "root's");
  {
    const FileRights none(nullptr);
    EXPECT_EQ(ReadFile(path).value(), "root's");
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace hpc::worker

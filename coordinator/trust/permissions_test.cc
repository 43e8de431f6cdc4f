#include "coordinator/trust/permissions.h"

#include <set>

#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

TEST(AccessTest, HasOneRowPerMethod) {
  std::set<std::string> methods;
  for (const AccessRow& row : AccessTable()) {
    EXPECT_TRUE(methods.insert(row.method).second) << row.method;
  }
}

TEST(AccessTest, LetsNobodyDoAnythingButJoin) {
  for (const AccessRow& row : AccessTable()) {
    EXPECT_EQ(GrantOf(row.method, Standing::kNobody) != Grant::kNo,
              std::string(row.method) == "hpc.v1.Trust/Join")
        << row.method;
  }
}

TEST(AccessTest, LetsWorkersSpeakForThemselvesOnly) {
  EXPECT_EQ(GrantOf("hpc.v1.Worker/Connect", Standing::kWorker), Grant::kOwn);
  EXPECT_EQ(GrantOf("hpc.v1.Runs/Submit", Standing::kWorker), Grant::kNo);
  EXPECT_EQ(GrantOf("hpc.v1.Nodes/Reclaim", Standing::kWorker), Grant::kNo);
  EXPECT_EQ(GrantOf("hpc.v1.Worker/Connect", Standing::kUser), Grant::kNo);
}

TEST(AccessTest, LetsUsersEndWhatIsTheirs) {
  EXPECT_EQ(GrantOf("hpc.v1.Runs/Cancel", Standing::kUser), Grant::kOwn);
  EXPECT_EQ(GrantOf("hpc.v1.Runs/Cancel", Standing::kAdmin), Grant::kAll);
  EXPECT_EQ(GrantOf("hpc.v1.Nodes/Reclaim", Standing::kUser), Grant::kOwn);
}

TEST(AccessTest, OnlyAUsersPriorityIsLimited) {
  EXPECT_OK(CheckPriority(Standing::kUser, 100, 100));
  EXPECT_THAT(CheckPriority(Standing::kUser, 101, 100),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("--priority 101: the highest that a user may ask for here is "
                                 "100")));
  EXPECT_OK(CheckPriority(Standing::kAdmin, 101, 100));
  EXPECT_OK(CheckPriority(Standing::kAnyone, 101, 100));
}

TEST(AccessTest, GivesTheKeysToAdminsOnly) {
  for (const char* method : {"hpc.v1.Cluster/Backup", "hpc.v1.Trust/CreateToken",
                             "hpc.v1.Trust/RevokeCertificate", "hpc.v1.Trust/RotateAuthority"}) {
    EXPECT_EQ(GrantOf(method, Standing::kUser), Grant::kNo) << method;
    EXPECT_EQ(GrantOf(method, Standing::kAdmin), Grant::kAll) << method;
  }
}

TEST(AccessTest, GrantsNothingOnAMethodThatHasNoRow) {
  EXPECT_EQ(GrantOf("hpc.v1.Runs/Later", Standing::kAdmin), Grant::kNo);
}

TEST(AccessTest, TellsAStrangerToJoinAndAMemberThatItMayNot) {
  EXPECT_THAT(Refusal("hpc.v1.Runs/List", Standing::kNobody),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("hpcctl login")));
  EXPECT_THAT(Refusal("hpc.v1.Runs/List", Standing::kWorker),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("a worker may not")));
}

TEST(AccessTest, SaysToAUserInWordsWhatOnlyAdminsMay) {
  for (const AccessRow& row : AccessTable()) {
    if (row.user != Grant::kNo || row.worker != Grant::kNo) continue;
    const std::string words(Refusal(row.method, Standing::kUser).message());
    EXPECT_THAT(words, ::testing::Not(HasSubstr("hpc.v1."))) << row.method;
  }
  EXPECT_THAT(Refusal("hpc.v1.Trust/CreateToken", Standing::kUser),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("only an admin may make tokens, and you are a user.")));
}

}  // namespace
}  // namespace hpc::coordinator

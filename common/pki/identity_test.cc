#include "common/pki/identity.h"

#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

TEST(IdentityTest, IsReadBackFromItsUri) {
  const Identity identity{"0123456789abcdef", Role::kWorker, "pc1.attic"};
  EXPECT_EQ(identity.ToUri(), "hpc://0123456789abcdef/worker/pc1.attic");
  EXPECT_EQ(identity.ToString(), "worker pc1.attic");
  const auto again = ParseIdentityUri(identity.ToUri());
  ASSERT_OK(again);
  EXPECT_EQ(*again, identity);
}

TEST(IdentityTest, RefusesUrisOfAnotherForm) {
  for (const char* uri :
       {"", "hpc://", "https://0123456789abcdef/worker/pc1", "hpc://0123456789abcdef/worker",
        "hpc://0123456789abcdef/worker/", "hpc://0123456789abcdef/root/pc1", "hpc://x/worker/pc1",
        "hpc://0123456789ABCDEF/worker/pc1", "hpc://0123456789abcdef/worker/pc1/more",
        "hpc://0123456789abcdef/worker/p c"}) {
    EXPECT_THAT(ParseIdentityUri(uri),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hpc://CLUSTER/ROLE/NAME")))
        << uri;
  }
}

TEST(RoleTest, IsReadBackFromItsName) {
  for (Role role : {Role::kAdmin, Role::kUser, Role::kWorker, Role::kCoordinator}) {
    EXPECT_EQ(*ParseRole(RoleName(role)), role);
  }
  EXPECT_THAT(ParseRole("king"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("admin, user")));
}

}  // namespace
}  // namespace hpc::pki

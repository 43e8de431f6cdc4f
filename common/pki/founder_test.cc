#include "common/pki/founder.h"

#include "common/files/files.h"
#include "common/pki/verify.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

TEST(FounderTest, IsAnAdminWhomTheCoordinatorCanLookUp) {
  const std::string folder = ::testing::TempDir() + "founder";
  ASSERT_OK(RemoveTree(folder));
  const auto keyring = Keyring::Create({folder, "", ""}, kNow);
  ASSERT_OK(keyring);
  EXPECT_THAT(LoadFounder(folder), StatusIs(absl::StatusCode::kNotFound, HasSubstr("founder")));

  const auto anna = MakeFounder(*keyring, folder, "anna", kNow);
  ASSERT_OK(anna);
  EXPECT_EQ(HolderOf(*anna)->identity, (Identity{keyring->cluster(), Role::kAdmin, "anna"}));
  const auto noted = LoadFounder(folder);
  ASSERT_OK(noted);
  EXPECT_EQ(noted->ToPem(), anna->certificate_pem);
  EXPECT_OK(Verify(*noted, {}, *CertificatesFromPem(anna->authorities_pem), Use::kClient, kNow));

  ASSERT_OK(WriteFileAtomically(folder + "/founder.pem", "garbage"));
  EXPECT_THAT(LoadFounder(folder),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(folder + "/founder.pem")));
}

}  // namespace
}  // namespace hpc::pki

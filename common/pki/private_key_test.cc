#include "common/pki/private_key.h"

#include "absl/strings/match.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PrivateKeyTest, IsReadBackFromPem) {
  const std::string pem = *PrivateKey::Generate()->ToPem("");
  const auto again = PrivateKey::FromPem(pem, "");
  ASSERT_OK(again);
  EXPECT_EQ(*again->ToPem(""), pem);
}

TEST(PrivateKeyTest, OpensWithItsPassphraseOnly) {
  const auto pem = PrivateKey::Generate()->ToPem("secret");
  ASSERT_OK(pem);
  EXPECT_TRUE(absl::StrContains(*pem, "ENCRYPTED"));
  EXPECT_OK(PrivateKey::FromPem(*pem, "secret"));
  EXPECT_THAT(PrivateKey::FromPem(*pem, "wrong"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with this passphrase")));
  EXPECT_THAT(PrivateKey::FromPem(*pem, ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a passphrase")));
}

TEST(PrivateKeyTest, IsAnotherEachTime) {
  EXPECT_NE(*PrivateKey::Generate()->ToPem(""), *PrivateKey::Generate()->ToPem(""));
}

}  // namespace
}  // namespace hpc::pki

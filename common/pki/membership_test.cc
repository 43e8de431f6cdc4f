#include "common/pki/membership.h"

#include <sys/stat.h>

#include "common/files/files.h"
#include "common/pki/authority.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const Identity kPc1{"0123456789abcdef", Role::kWorker, "pc1"};

class MembershipTest : public ::testing::Test {
 protected:
  MembershipTest() : folder_(::testing::TempDir() + "membership/identity") {
    EXPECT_OK(RemoveTree(::testing::TempDir() + "membership"));
  }

  static Membership Make() {
    const Authority authority = *Authority::Create(kPc1.cluster, kNow);
    const PrivateKey key = *PrivateKey::Generate();
    const Certificate certificate =
        *authority.Sign(*SigningRequest::Make(key), kPc1, kNow, absl::Hours(29));
    return {.key_pem = *key.ToPem(""),
            .certificate_pem = certificate.ToPem(),
            .authorities_pem = authority.certificate().ToPem(),
            .addresses = {*ParseEndpoint("10.0.0.1:7077"), *ParseEndpoint("vpn.example:7")}};
  }

  const std::string folder_;
};

TEST_F(MembershipTest, IsReadBackAsItWasSaved) {
  const Membership membership = Make();
  ASSERT_OK(SaveMembership(folder_, membership));
  const auto again = LoadMembership(folder_);
  ASSERT_OK(again);
  EXPECT_EQ(again->key_pem, membership.key_pem);
  EXPECT_EQ(again->certificate_pem, membership.certificate_pem);
  EXPECT_EQ(again->authorities_pem, membership.authorities_pem);
  ASSERT_EQ(again->addresses.size(), 2);
  EXPECT_EQ(again->addresses[1].ToString(), "vpn.example:7");
  const auto holder = HolderOf(*again);
  ASSERT_OK(holder);
  EXPECT_EQ(holder->identity, kPc1);
}

TEST_F(MembershipTest, ShowsItsKeyToNobodyElse) {
  ASSERT_OK(SaveMembership(folder_, Make()));
  struct stat info {};
  ASSERT_EQ(stat((folder_ + "/identity.pem").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(MembershipTest, OfAFolderWithoutOneIsNotFound) {
  EXPECT_THAT(LoadMembership(folder_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("identity")));
}

TEST_F(MembershipTest, NamesTheFileThatIsDamaged) {
  for (const char* name : {"identity.pem", "authorities.pem", "addresses"}) {
    ASSERT_OK(SaveMembership(folder_, Make()));
    ASSERT_OK(WriteFileAtomically(folder_ + "/" + name, "!! ::"));
    EXPECT_THAT(LoadMembership(folder_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
    EXPECT_FALSE(ReadMembership(folder_).ok()) << name;
  }
}

TEST_F(MembershipTest, IsReadWithoutALookIntoItsKey) {
  Membership damaged = Make();
  const Membership other = Make();
  damaged.key_pem[28] ^= 1;  // the tag of its outermost value
  ASSERT_OK(SaveMembership(folder_, damaged));
  EXPECT_OK(ReadMembership(folder_));
  EXPECT_THAT(LoadMembership(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("identity.pem")));
  damaged.key_pem = other.key_pem;
  ASSERT_OK(SaveMembership(folder_, damaged));
  EXPECT_THAT(LoadMembership(folder_), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("is for another private key")));
}

TEST_F(MembershipTest, IsDueForRenewalWhenAThirdOfItsTimeIsLeft) {
  const Holder holder = *HolderOf(Make());  // valid for 30 hours, 29 of them after kNow
  EXPECT_FALSE(DueForRenewal(holder, kNow + absl::Hours(19)));
  EXPECT_TRUE(DueForRenewal(holder, kNow + absl::Hours(19) + absl::Seconds(1)));
  EXPECT_TRUE(DueForRenewal(holder, kNow + absl::Hours(100)));
}

}  // namespace
}  // namespace hpc::pki

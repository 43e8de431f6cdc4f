#include "common/pki/signing_request.h"

#include "absl/strings/escaping.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

// Made with `openssl req -new -newkey rsa:1024`.
constexpr char kRsaRequest[] = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBSzCBtQIBADAMMQowCAYDVQQDDAF4MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCB
iQKBgQDbum3/v8IQzvoqdw2t39VRRfaDKjadxvO6dvw80Wep5jzzWurodiJFjLWy
pcjTRtbGzuW3hGpuGrmCwcukdxE3fy0LKM3/1gEHsgvtxhqN/IOBHTLEi13+bJEk
BhCtnxP4Pu3cFkfHjIEXKSXB/7Oq4/Z34eQ/zvE3jJaNdXwi7QIDAQABoAAwDQYJ
KoZIhvcNAQELBQADgYEApia7XEpW3LQ7TOnkErhuxH/vbtxHMSVBZrueBfZQUEV2
I1FVU6a4pxIqi5oJ3ghwSy8T5WP+4EQj/nqK+RcqPJUWkIQn3+99vb9yeXHEnCEU
K10+T8+hWFsSu+tazKVNtc/jNiZVtoZ4lm60AVh6606JnFRmtJxk280/6Sro56U=
-----END CERTIFICATE REQUEST-----
)";

TEST(SigningRequestTest, IsReadBackFromPem) {
  const auto request = SigningRequest::Make(*PrivateKey::Generate());
  ASSERT_OK(request);
  const auto again = SigningRequest::FromPem(request->ToPem());
  ASSERT_OK(again);
  EXPECT_EQ(again->ToPem(), request->ToPem());
}

TEST(SigningRequestTest, ThatItsKeyDidNotSignIsRefused) {
  const std::string pem = SigningRequest::Make(*PrivateKey::Generate())->ToPem();
  const size_t begin = pem.find('\n') + 1;
  const size_t end = pem.find("-----END");
  std::string der;
  ASSERT_TRUE(absl::Base64Unescape(pem.substr(begin, end - begin), &der));
  der.back() = static_cast<char>(der.back() ^ 1);  // the signature stands at the end
  EXPECT_THAT(SigningRequest::FromPem(pem.substr(0, begin) + absl::Base64Escape(der) + "\n" +
                                      pem.substr(end)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not signed by its own key")));
}

TEST(SigningRequestTest, OfAnotherKindOfKeyIsRefused) {
  EXPECT_THAT(SigningRequest::FromPem(kRsaRequest),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("P-256")));
}

TEST(SigningRequestTest, ThatIsNoneIsRefused) {
  EXPECT_THAT(SigningRequest::FromPem("hello"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a signing request")));
}

}  // namespace
}  // namespace hpc::pki

#include "common/pki/pem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hpc::pki {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kKey = "-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n";
const std::string kOne = "-----BEGIN CERTIFICATE-----\nMII1\n-----END CERTIFICATE-----\n";
const std::string kTwo = "-----BEGIN CERTIFICATE-----\nMII2\n-----END CERTIFICATE-----";

TEST(PemBlocksTest, AreThoseOfOneLabel) {
  const std::string text = "a remark\n" + kOne + kKey + "\n" + kTwo;
  EXPECT_THAT(PemBlocks(text, kCertificateLabel), ElementsAre(kOne, kTwo));
  EXPECT_THAT(PemBlocks(text, kKeyLabel), ElementsAre(kKey));
}

TEST(PemBlocksTest, EndBeforeOneThatIsCutOff) {
  EXPECT_THAT(PemBlocks("", kCertificateLabel), IsEmpty());
  EXPECT_THAT(PemBlocks(kOne + kTwo.substr(0, kTwo.size() - 1), kCertificateLabel),
              ElementsAre(kOne));
  EXPECT_THAT(PemBlocks("-----BEGIN CERTIFICATE-----", kCertificateLabel), IsEmpty());
}

}  // namespace
}  // namespace hpc::pki

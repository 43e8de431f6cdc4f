#include "common/pki/join_token.h"

#include "absl/strings/match.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

JoinToken Example() {
  return {.role = Role::kUser,
          .secret = std::string(kTokenSecretBytes, 's'),
          .authority_hash = std::string(kPublicKeyHashBytes, '\xfe'),
          .addresses = {*ParseEndpoint("192.168.1.10:7077"), *ParseEndpoint("[fd00::1]:7078")}};
}

TEST(JoinTokenTest, IsReadBackAsItWasWritten) {
  const std::string text = FormatJoinToken(Example());
  EXPECT_TRUE(absl::StartsWith(text, "hpc1-"));
  const auto token = ParseJoinToken("  " + text + "\n");
  ASSERT_OK(token);
  EXPECT_EQ(token->role, Role::kUser);
  EXPECT_EQ(token->secret, Example().secret);
  EXPECT_EQ(token->authority_hash, Example().authority_hash);
  ASSERT_EQ(token->addresses.size(), 2);
  EXPECT_EQ(token->addresses[0].ToString(), "192.168.1.10:7077");
  EXPECT_EQ(token->addresses[1].ToString(), "[fd00::1]:7078");
}

TEST(JoinTokenTest, IsOneWordThatAShellLeavesAlone) {
  EXPECT_EQ(FormatJoinToken(Example()).find_first_not_of(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
            std::string::npos);
}

TEST(JoinTokenTest, ThatLostItsEndIsRefused) {
  const std::string text = FormatJoinToken(Example());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(ParseJoinToken(text.substr(0, size)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hpcctl token create")))
        << size;
  }
}

TEST(JoinTokenTest, WithAnyOneCharacterMistypedIsRefused) {
  const std::string text = FormatJoinToken(Example());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string typed = text;
    typed[i] = typed[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(ParseJoinToken(typed).ok()) << i;
  }
}

TEST(JoinTokenTest, SaysWhatElseItMayBe) {
  EXPECT_THAT(ParseJoinToken("hpc2-abcd"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another version")));
  EXPECT_THAT(ParseJoinToken("192.168.1.10:7077"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("begin with hpc1-")));
  EXPECT_THAT(ParseJoinToken("hpc1-ab cd!"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("character")));
}

TEST(JoinTokenTest, IsHiddenFromThoseWhoListProcesses) {
  char program[] = "hpc-worker", join[] = "join", token[] = "hpc1-abc", name[] = "--name=pc1";
  char* words[] = {program, join, token, name};
  HideTokens(4, words);
  EXPECT_STREQ(token, "********");
  EXPECT_STREQ(join, "join");
  EXPECT_STREQ(name, "--name=pc1");
}

TEST(TokenIdTest, TellsNothingOfTheSecretButWhichItIs) {
  EXPECT_EQ(TokenId("abc"), "ba7816bf8f01");
}

}  // namespace
}  // namespace hpc::pki

#include "common/net/endpoint.h"

#include "common/status_matchers.h"

namespace hpc {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

TEST(EndpointTest, ReadsAnAddressWithPort) {
  const auto endpoint = ParseEndpoint("10.0.0.1:99");
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->host, "10.0.0.1");
  EXPECT_EQ(endpoint->port, 99);
  EXPECT_EQ(endpoint->ToString(), "10.0.0.1:99");
}

TEST(EndpointTest, TakesTheDefaultPortWhenNoneIsGiven) {
  EXPECT_EQ(ParseEndpoint("master")->port, kDefaultPort);
  EXPECT_EQ(ParseEndpoint("[fe80::1]")->port, kDefaultPort);
}

TEST(EndpointTest, ReadsIpv6InBrackets) {
  const auto endpoint = ParseEndpoint("[::1]:7");
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->host, "::1");
  EXPECT_EQ(endpoint->ToString(), "[::1]:7");
}

TEST(EndpointTest, ReadsAUnixSocket) {
  const auto endpoint = ParseEndpoint("unix:/run/hpc/c.sock");
  ASSERT_OK(endpoint);
  EXPECT_TRUE(endpoint->is_unix);
  EXPECT_EQ(endpoint->ToString(), "unix:/run/hpc/c.sock");
}

TEST(EndpointTest, RefusesAPathThatIsTooLongForASocket) {
  EXPECT_OK(ParseEndpoint("unix:" + std::string(107, 'x')));
  EXPECT_THAT(ParseEndpoint("unix:" + std::string(108, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the path has 108 bytes, and the kernel takes at most 107")));
}

TEST(EndpointTest, KnowsWhatIsReachableFromThisMachineOnly) {
  EXPECT_TRUE(ParseEndpoint("127.0.0.11:1")->IsLocal());
  EXPECT_TRUE(ParseEndpoint("[::1]:1")->IsLocal());
  EXPECT_TRUE(ParseEndpoint("unix:/x")->IsLocal());
  EXPECT_FALSE(ParseEndpoint("10.0.0.1:1")->IsLocal());
  EXPECT_FALSE(ParseEndpoint("127.example.org:1")->IsLocal());
  EXPECT_FALSE(ParseEndpoint("0.0.0.0:1")->IsLocal());
}

TEST(EndpointTest, RefusesWhatIsNoAddressAndShowsTheForms) {
  for (const char* text :
       {"", ":1", "a:b", "a:", "a:70000", "a:-1", "fe80::1", "[::1", "[::1]x", "unix:", "a b:1",
        "http://x:1", "224.0.0.1:7077", "255.255.255.255", "[ff02::1]:7077"}) {
    EXPECT_THAT(ParseEndpoint(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unix:PATH")))
        << text;
  }
  EXPECT_THAT(std::string(ParseEndpoint("http://127.0.0.1:7077").status().message()),
              HasSubstr("slashes"))
      << "and nothing of IPv6";
}

}  // namespace
}  // namespace hpc

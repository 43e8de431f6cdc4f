#include "worker/link/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using testing::StatusIs;

Route Of(const std::vector<const char*>& addresses) {
  std::vector<Endpoint> endpoints;
  for (const char* address : addresses) endpoints.push_back(*ParseEndpoint(address));
  return Route(std::move(endpoints), member::Security::PlainText());
}

TEST(RouteTest, TriesItsAddressesInTurn) {
  Route route = Of({"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"});
  for (const char* expected : {"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3", "10.0.0.1:1"}) {
    EXPECT_EQ(route.next().ToString(), expected);
    route.OnClosed(absl::UnavailableError("nobody")).IgnoreError();
  }
}

TEST(RouteTest, WhatAnsweredIsFirstFromThenOn) {
  Route route = Of({"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3"});
  route.OnClosed(absl::UnavailableError("nobody")).IgnoreError();
  route.OnClosed(absl::UnavailableError("nobody")).IgnoreError();
  route.OnAnswered();
  EXPECT_EQ(route.next().ToString(), "10.0.0.3:3");
  EXPECT_EQ(route.addresses()[1].ToString(), "10.0.0.1:1");
  EXPECT_EQ(route.addresses()[2].ToString(), "10.0.0.2:2");
}

TEST(RouteTest, WhereItAnsweredItIsTriedAgainFirst) {
  Route route = Of({"10.0.0.1:1", "10.0.0.2:2"});
  route.OnAnswered();
  EXPECT_THAT(route.OnClosed(absl::UnavailableError("gone")),
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_EQ(route.next().ToString(), "10.0.0.1:1");
  route.OnClosed(absl::UnavailableError("nobody")).IgnoreError();
  EXPECT_EQ(route.next().ToString(), "10.0.0.2:2");
}

TEST(RouteTest, OneAddressNeedsNoNameInTheReason) {
  Route route = Of({"10.0.0.1:1"});
  EXPECT_THAT(route.OnClosed(absl::UnavailableError("refused")),
              StatusIs(absl::StatusCode::kUnavailable, "refused"));
  EXPECT_EQ(route.next().ToString(), "10.0.0.1:1");
}

TEST(RouteTest, SeveralAddressesAreNamedEachWithItsReason) {
  Route route = Of({"10.0.0.1:1", "10.0.0.2:2"});
  EXPECT_THAT(route.OnClosed(absl::UnavailableError("refused")),
              StatusIs(absl::StatusCode::kUnavailable, "10.0.0.1:1: refused"));
  EXPECT_THAT(
      route.OnClosed(absl::UnauthenticatedError("revoked")),
      StatusIs(absl::StatusCode::kUnauthenticated, "10.0.0.1:1: refused; 10.0.0.2:2: revoked"));
}

}  // namespace
}  // namespace hpc::worker

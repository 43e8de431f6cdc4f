#include "coordinator/rpc/calls/open_calls.h"

#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

struct FakeCall : OpenCall {
  absl::Status ended;
  void Stop(const absl::Status& reason) override { ended = reason; }
};

Caller Of(Standing standing, const std::string& user, const std::string& serial = "") {
  Caller caller;
  caller.standing = standing;
  caller.user = user;
  caller.serial = serial;
  return caller;
}

TEST(OpenCallsTest, OneIdentityMayHaveSoMany) {
  OpenCalls calls(2);
  FakeCall one, two, three;
  EXPECT_OK(calls.SetCaller(&one, Of(Standing::kUser, "anna")));
  EXPECT_OK(calls.SetCaller(&two, Of(Standing::kUser, "anna")));
  EXPECT_THAT(calls.SetCaller(&three, Of(Standing::kUser, "anna")),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("user anna has 2 calls")));
  EXPECT_OK(calls.SetCaller(&three, Of(Standing::kWorker, "anna")));
  calls.Remove(&one);
  FakeCall four;
  EXPECT_OK(calls.SetCaller(&four, Of(Standing::kUser, "anna")));
}

TEST(OpenCallsTest, WhoHasNoNameIsNotCounted) {
  OpenCalls calls(1);
  FakeCall one, two;
  EXPECT_OK(calls.SetCaller(&one, Of(Standing::kAnyone, "")));
  EXPECT_OK(calls.SetCaller(&two, Of(Standing::kAnyone, "")));
}

TEST(OpenCallsTest, CallsOfACertificateAreStoppedAndNoOthers) {
  OpenCalls calls;
  FakeCall unknown, anna, bob;
  calls.Add(&unknown);
  EXPECT_OK(calls.SetCaller(&anna, Of(Standing::kUser, "anna", "a1")));
  EXPECT_OK(calls.SetCaller(&bob, Of(Standing::kUser, "bob", "b1")));
  calls.StopOf({"a1", "c1"}, absl::UnauthenticatedError("revoked"));
  EXPECT_OK(unknown.ended);
  EXPECT_OK(bob.ended);
  EXPECT_THAT(anna.ended, StatusIs(absl::StatusCode::kUnauthenticated, "revoked"));
}

TEST(OpenCallsTest, AllAreStoppedThoughEachRemovesItselfAndOthers) {
  OpenCalls calls;
  struct Last : OpenCall {
    OpenCalls* calls;
    int* stopped;
    void Stop(const absl::Status&) override {
      ++*stopped;
      calls->Remove(this);
    }
  };
  int stopped = 0;
  Last one, two;
  for (Last* call : {&one, &two}) {
    call->calls = &calls;
    call->stopped = &stopped;
    calls.Add(call);
  }
  EXPECT_FALSE(calls.empty());
  calls.StopAll(absl::UnavailableError("the coordinator stops"));
  EXPECT_EQ(stopped, 2);
  EXPECT_TRUE(calls.empty());
}

}  // namespace
}  // namespace hpc::coordinator

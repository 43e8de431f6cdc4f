// Tests a session against a gRPC server over real TLS, and against peers that are not one.
#include "member/http2/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "common/net/dial.h"
#include "common/pki/authority.h"
#include "common/process/bell.h"
#include "common/status_matchers.h"
#include "hpc/v1/trust.pb.h"
#include "member/http2/caller.h"
#include "member/http2/one_call.h"
#include "member/http2/testing/unix_listener.h"
#include "member/testing.h"

namespace hpc::wire {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Session>> OpenFor(absl::Duration patience, const Endpoint& endpoint,
                                                 const member::Security& security, int stop_fd) {
  return Session::Open(endpoint, security, RealClock().Get().mono + patience, stop_fd, [] {});
}

// A stranger, who may be anybody, listens at a Unix socket.
class StrangerTest : public ::testing::Test {
 protected:
  StrangerTest() {
    char name[] = "/tmp/session_test.XXXXXX";
    dir_ = mkdtemp(name);
    path_ = dir_ + "/s";
  }
  ~StrangerTest() override {
    unlink(path_.c_str());
    rmdir(dir_.c_str());
  }

  UniqueFd Listen(int backlog) { return testing::ListenAtSocket(path_, backlog); }
  absl::StatusOr<std::unique_ptr<Session>> Open(absl::Duration patience) {
    return OpenFor(patience, {.is_unix = true, .path = path_}, {}, stop_.fd());
  }
  // Accepts one connection and does `what` with it.
  std::thread Serve(const UniqueFd& listener, std::function<void(int fd)> what) {
    return std::thread([fd = listener.get(), what = std::move(what)] {
      const UniqueFd accepted(accept(fd, nullptr, nullptr));
      what(accepted.get());
    });
  }

  std::string dir_, path_;
  const Bell stop_;
};

TEST_F(StrangerTest, NobodyIsUnavailableAtOnce) {
  EXPECT_THAT(Open(absl::Seconds(60)), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST_F(StrangerTest, WhoSaysNothingIsWaitedForUntilTheDeadline) {
  const UniqueFd listener = Listen(5);
  EXPECT_THAT(Open(absl::Milliseconds(20)), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST_F(StrangerTest, WhoSaysNothingIsWaitedForUntilAnInterrupt) {
  const UniqueFd listener = Listen(5);
  stop_.Ring();
  EXPECT_THAT(Open(absl::Seconds(60)), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(StrangerTest, WhoHasTooManyWaitingIsTriedUntilTheDeadline) {
  const UniqueFd listener = Listen(0);
  const UniqueFd waiting = DialUnix(path_);
  ASSERT_TRUE(waiting.ok());
  EXPECT_THAT(Open(absl::Milliseconds(20)), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST_F(StrangerTest, WhoHangsUpIsUnavailable) {
  const UniqueFd listener = Listen(5);
  std::thread serving = Serve(listener, [](int) {});
  EXPECT_THAT(Open(absl::Seconds(60)), StatusIs(absl::StatusCode::kUnavailable, _));
  serving.join();
}

TEST_F(StrangerTest, WhoSpeaksAnotherProtocolIsUnavailable) {
  const UniqueFd listener = Listen(5);
  std::thread serving = Serve(listener, [](int fd) {
    const std::string page = "HTTP/1.1 400 Bad Request\r\n\r\n";
    EXPECT_EQ(send(fd, page.data(), page.size(), MSG_NOSIGNAL), static_cast<ssize_t>(page.size()));
    char byte;
    while (recv(fd, &byte, 1, 0) > 0) continue;
  });
  EXPECT_THAT(Open(absl::Seconds(60)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("HTTP/2")));
  serving.join();
}

TEST_F(StrangerTest, WhoFallsSilentIsAskedAndThenLeft) {
  const UniqueFd listener = Listen(5);
  std::string heard;
  std::thread serving = Serve(listener, [&heard](int fd) {
    const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
    EXPECT_EQ(send(fd, settings.data(), settings.size(), MSG_NOSIGNAL), 9);
    char bytes[4096];
    for (ssize_t n = 0; (n = recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
      heard.append(bytes, static_cast<size_t>(n));
    }
  });
  auto session = Open(absl::Seconds(60));
  ASSERT_OK(session);
  (*session)->set_patience({absl::Milliseconds(20), absl::Milliseconds(20)});
  v1::WhoAmIResponse response;
  EXPECT_THAT(Caller(session->get(), stop_.fd())
                  .Unary("/hpc.v1.Trust/WhoAmI", v1::WhoAmIRequest(), &response),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("does not answer")));
  EXPECT_TRUE((*session)->broken());
  session->reset();
  serving.join();
  const std::string ping("\0\0\10\6\0\0\0\0\0", 9);
  EXPECT_THAT(heard, HasSubstr(ping));
}

TEST_F(StrangerTest, ACallOfItsOwnEndsInTimeWhereverWhoAnswersFallsSilent) {
  for (const std::string& said : {std::string(), std::string("\0\0\0\4\0\0\0\0\0", 9)}) {
    const UniqueFd listener = Listen(5);
    std::thread serving = Serve(listener, [&said](int fd) {
      // The client may have left by now.
      if (send(fd, said.data(), said.size(), MSG_NOSIGNAL) < 0) return;
      char bytes[4096];
      while (recv(fd, bytes, sizeof(bytes), 0) > 0) continue;
    });
    v1::WhoAmIResponse response;
    EXPECT_THAT(CallOnce({.is_unix = true, .path = path_}, {}, "/hpc.v1.Trust/WhoAmI",
                         v1::WhoAmIRequest(), &response, absl::Milliseconds(30)),
                StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("30ms")));
    serving.join();
    unlink(path_.c_str());
  }
}

TEST_F(StrangerTest, AllOfALargeRequestIsSentWithoutAWordFromThere) {
  constexpr size_t kSize = 4 << 20;
  const UniqueFd listener = Listen(5);
  std::string heard;
  std::thread serving = Serve(listener, [&heard](int fd) {
    // These settings let a stream send 2 GB, and all streams together 1 GB more than at first.
    const std::string settings("\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff", 15);
    const std::string more("\0\0\4\10\0\0\0\0\0\x40\0\0\0", 13);
    const std::string said = settings + more;
    EXPECT_EQ(send(fd, said.data(), said.size(), MSG_NOSIGNAL), static_cast<ssize_t>(said.size()));
    char bytes[4096];
    while (heard.size() < kSize) {
      const ssize_t n = recv(fd, bytes, sizeof(bytes), 0);
      if (n <= 0) break;
      heard.append(bytes, static_cast<size_t>(n));
    }
  });
  auto session = Open(absl::Seconds(60));
  ASSERT_OK(session);
  (*session)->set_patience({absl::Hours(1), absl::Hours(1)});
  OneMessage request(std::string(kSize, 'x'));
  const auto none = [](absl::string_view) { return absl::OkStatus(); };
  EXPECT_THAT((*session)->Call("/hpc.v1.Runs/Submit", &request, none, stop_.fd()),
              StatusIs(absl::StatusCode::kUnavailable, _));
  serving.join();
  EXPECT_GE(heard.size(), kSize);
}

class SessionTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Session>> Open(const member::Security& security) {
    return OpenFor(absl::Seconds(60), coordinator_->address(), security, stop_.fd());
  }
  member::Security Member() const {
    return member::Security::Of(coordinator_->Admit(pki::Role::kUser, "anna"));
  }
  absl::StatusOr<std::string> WhoAmI(Session* session) {
    v1::WhoAmIResponse response;
    const absl::Status status =
        Caller(session, stop_.fd()).Unary("/hpc.v1.Trust/WhoAmI", v1::WhoAmIRequest(), &response);
    if (!status.ok()) return status;
    return response.name();
  }

  const Bell stop_;
  std::unique_ptr<member::TestCoordinator> coordinator_ =
      std::make_unique<member::TestCoordinator>();
};

TEST_F(SessionTest, CallsAreMadeOneAfterTheOtherAsWhoTheCertificateSays) {
  const auto session = Open(Member());
  ASSERT_OK(session);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*session)->Usable());
    EXPECT_EQ(*WhoAmI(session->get()), "anna");
  }
  EXPECT_THAT((*session)->shown(), HasSubstr("BEGIN CERTIFICATE"));
}

TEST_F(SessionTest, AnotherAuthoritysCoordinatorIsNotSpokenTo) {
  const auto stranger = *pki::Authority::Create("fedcba9876543210", absl::Now());
  EXPECT_THAT(Open(member::Security::AsNobody(stranger.certificate())),
              StatusIs(absl::StatusCode::kUnauthenticated, _));
}

TEST_F(SessionTest, WhatTheCoordinatorDoesNotHaveIsSaidAndNoHarm) {
  const auto session = Open(Member());
  ASSERT_OK(session);
  v1::WhoAmIResponse response;
  EXPECT_THAT(Caller(session->get(), stop_.fd())
                  .Unary("/hpc.v1.Trust/Nothing", v1::WhoAmIRequest(), &response),
              StatusIs(absl::StatusCode::kUnimplemented, _));
  ASSERT_TRUE((*session)->Usable());
  EXPECT_EQ(*WhoAmI(session->get()), "anna");
}

TEST_F(SessionTest, ItIsUsableNoMoreOnceTheCoordinatorIsGone) {
  const auto session = Open(Member());
  ASSERT_OK(session);
  EXPECT_EQ(*WhoAmI(session->get()), "anna");
  coordinator_ = nullptr;
  EXPECT_THAT(WhoAmI(session->get()), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_FALSE((*session)->Usable());
}

TEST_F(SessionTest, AnInterruptEndsACallAndTheSession) {
  const auto session = Open(Member());
  ASSERT_OK(session);
  stop_.Ring();
  EXPECT_THAT(WhoAmI(session->get()), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_FALSE((*session)->Usable());
}

}  // namespace
}  // namespace hpc::wire

#include "worker/owner/control_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

constexpr char kReclaim[] = R"({"command":"reclaim"})";
constexpr absl::Duration kShort = absl::Milliseconds(50);

class AskWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(dir_.data()), nullptr);
    auto listener = ListenOnControlSocket(dir_);
    ASSERT_OK(listener);
    listener_ = *std::move(listener);
  }
  void TearDown() override {
    unlink((dir_ + "/worker.sock").c_str());
    rmdir(dir_.c_str());
  }

  // The next one who asks, as soon as he has; what he asks is in *request.
  UniqueFd Accept(std::string* request) {
    UniqueFd fd;
    while (!fd.ok()) fd.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char buffer[100];
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    request->assign(buffer, n > 0 ? static_cast<size_t>(n) : 0);
    return fd;
  }

  std::string dir_ = "/tmp/hpc-ask-XXXXXX";
  UniqueFd listener_;
};

TEST_F(AskWorkerTest, AWorkerThatStandsStillIsNotWaitedForForever) {
  for (const std::string request : {kStatusRequest, kReclaim}) {
    EXPECT_THAT(AskWorker(dir_, request, kShort),
                StatusIs(absl::StatusCode::kDeadlineExceeded,
                         AllOf(HasSubstr(dir_), HasSubstr(request), HasSubstr("within 50 ms"),
                               HasSubstr(absl::StrCat("(", getpid(), ") ")),
                               HasSubstr(absl::StrCat("kill -CONT ", getpid())),
                               HasSubstr("systemctl restart hpc-worker"))));
  }
}

TEST_F(AskWorkerTest, NorIsOneAtWhoseDoorOthersStandAlready) {
  std::vector<std::thread> others;
  for (int i = 0; i < 20; ++i) {
    others.emplace_back([&] { AskWorker(dir_, kStatusRequest, kShort).IgnoreError(); });
  }
  for (std::thread& other : others) other.join();
  EXPECT_THAT(AskWorker(dir_, kStatusRequest, kShort),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("it stands still. Restart it"), Not(HasSubstr("kill")))));
}

TEST_F(AskWorkerTest, AReclaimThatTakesItsTimeIsWaitedForWhileTheWorkerAnswersOthers) {
  std::optional<absl::StatusOr<std::string>> answer;
  // Long enough for us to answer in time on a busy machine.
  std::thread owner([&] { answer = AskWorker(dir_, kReclaim, absl::Seconds(1)); });
  std::string request;
  const UniqueFd reclaim = Accept(&request);
  EXPECT_EQ(request, std::string(kReclaim) + "\n");
  const UniqueFd status = Accept(&request);
  EXPECT_EQ(request, std::string(kStatusRequest) + "\n");
  EXPECT_EQ(send(status.get(), "{}\n", 3, MSG_NOSIGNAL), 3);
  EXPECT_EQ(send(reclaim.get(), "free\n", 5, MSG_NOSIGNAL), 5);
  owner.join();
  EXPECT_EQ(answer->value_or(""), "free");
}

}  // namespace
}  // namespace hpc::worker

#include "member/channel.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "common/dial.h"
#include "common/status_matchers.h"

namespace hpc::member {
namespace {

class LocalChannelTest : public ::testing::Test {
 protected:
  LocalChannelTest() {
    char name[] = "/tmp/channel_test.XXXXXX";
    dir_ = mkdtemp(name);
    path_ = dir_ + "/s";
  }
  ~LocalChannelTest() override {
    unlink(path_.c_str());
    rmdir(dir_.c_str());
  }

  // With room for so many that were not accepted, and one more.
  UniqueFd Listen(int backlog) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), backlog), 0);
    return fd;
  }
  LocalChannel Make(absl::Duration patience) {
    return MakeLocalChannel(path_, RealClock().Get().mono + patience, {});
  }

  std::string dir_, path_;
};

TEST_F(LocalChannelTest, ThereIsNoneWhereNobodyListens) {
  EXPECT_EQ(Make(absl::Seconds(60)).channel, nullptr);
}

TEST_F(LocalChannelTest, ThereIsNoneToWhoSaysNothing) {
  const UniqueFd listener = Listen(5);
  EXPECT_EQ(Make(absl::Milliseconds(20)).channel, nullptr);
}

TEST_F(LocalChannelTest, ThereIsNoneToWhoHangsUp) {
  const UniqueFd listener = Listen(5);
  std::thread hanging_up([&] { close(accept(listener.get(), nullptr, nullptr)); });
  EXPECT_EQ(Make(absl::Seconds(60)).channel, nullptr);
  hanging_up.join();
}

TEST_F(LocalChannelTest, ThereIsNoneToWhoHasTooManyWaiting) {
  const UniqueFd listener = Listen(0);
  const UniqueFd waiting = DialUnix(path_);
  ASSERT_TRUE(waiting.ok());
  EXPECT_EQ(Make(absl::Seconds(60)).channel, nullptr);
}

TEST_F(LocalChannelTest, ItEndsWithTheCoordinator) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path_, grpc::InsecureServerCredentials());
  grpc::AsyncGenericService service;
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  std::thread serving([&queue] {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) continue;
  });
  const LocalChannel local = Make(absl::Seconds(60));
  EXPECT_NE(local.channel, nullptr);
  EXPECT_FALSE(local.Ended());
  server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  serving.join();
  server.reset();
  EXPECT_OK(Await(local.socket.get(), POLLRDHUP, RealClock().Get().mono + absl::Seconds(60)));
  EXPECT_TRUE(local.Ended());
}

}  // namespace
}  // namespace hpc::member

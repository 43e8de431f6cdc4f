// Tests a stream of submissions against a peer that is not a coordinator.
#include "client/submit_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/status_matchers.h"
#include "member/http2/testing/unix_listener.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

// Returns answers to two submissions, to be sent at the first word of a client: SETTINGS, and on
// stream 1 HEADERS with ":status: 200" and DATA with two empty messages.
std::string TwoAnswers() {
  return std::string("\0\0\0\4\0\0\0\0\0", 9) + std::string("\0\0\1\1\4\0\0\0\1\x88", 10) +
         std::string("\0\0\12\0\0\0\0\0\1", 9) + std::string(10, '\0');
}

TEST(SubmitStreamTest, AnswersToWhatWasNotAskedEndIt) {
  char folder[] = "/tmp/submit_stream_test.XXXXXX";
  const std::string path = std::string(mkdtemp(folder)) + "/s";
  const UniqueFd listener = wire::testing::ListenAtSocket(path);
  std::thread serving([&listener] {
    const UniqueFd fd(accept(listener.get(), nullptr, nullptr));
    const std::string hello = TwoAnswers().substr(0, 9), answers = TwoAnswers().substr(9);
    EXPECT_EQ(send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL), 9);
    char bytes[4096];
    EXPECT_GT(recv(fd.get(), bytes, sizeof(bytes), 0), 0);
    EXPECT_EQ(send(fd.get(), answers.data(), answers.size(), MSG_NOSIGNAL), 29);
    while (recv(fd.get(), bytes, sizeof(bytes), 0) > 0) continue;
  });
  {
    auto connection =
        Connection::Open({.is_unix = true, .path = path}, {}, absl::Seconds(60), [] {});
    ASSERT_OK(connection);
    int answered = 0;
    const auto nothing = [] { return std::optional<v1::RunSpec>(); };
    EXPECT_THAT(RunSubmitStream(connection->get(), nothing,
                                [&](const v1::SubmitManyResponse&) { ++answered; }),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("what was not asked")));
    EXPECT_EQ(answered, 0);
  }
  serving.join();
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace hpc::client

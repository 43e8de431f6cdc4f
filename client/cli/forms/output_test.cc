#include "client/cli/forms/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "common/unique_fd.h"

namespace hpc::client {
namespace {

// Two ends of something whose reader reads nothing by itself.
struct Unread {
  UniqueFd reader, writer;
};

Unread Pipe() {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// It cannot be opened once more, as a pipe can.
Unread Socket() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

class UnreadOutputTest : public testing::TestWithParam<Unread (*)()> {
 protected:
  const std::string much_ = std::string(4 << 20, 'x');  // more than either of them holds
};

TEST_P(UnreadOutputTest, AWriteThatWaitsForItsReaderIsGivenUpWhenThatIsAskedFor) {
  const Unread unread = GetParam()();
  Output output = Output::ForFd(unread.writer.get());
  std::thread writer([&] { output.Write(much_); });
  output.WaitAtMost(absl::Milliseconds(20));
  writer.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(output.status()));
  EXPECT_EQ(output.status().message(), "write the output: nobody has read any of it for 20 ms");
  output.Write(much_);  // dropped
}

TEST_P(UnreadOutputTest, WithoutPatienceWhatIsReadIsWrittenStill) {
  const Unread unread = GetParam()();
  Output output = Output::ForFd(unread.writer.get());
  output.WaitAtMost(absl::ZeroDuration());
  output.Write("said");
  output.Flush();
  EXPECT_TRUE(output.status().ok());
  char said[4];
  EXPECT_EQ(read(unread.reader.get(), said, sizeof said), 4);
}

TEST_P(UnreadOutputTest, WhoReadsSlowlyGetsAllOfIt) {
  const Unread unread = GetParam()();
  Output output = Output::ForFd(unread.writer.get());
  output.WaitAtMost(absl::Minutes(1));
  std::thread writer([&] { output.Write(much_); });
  std::string got;
  while (got.size() < much_.size()) {
    char buffer[5000];
    const ssize_t n = read(unread.reader.get(), buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    got.append(buffer, static_cast<size_t>(n));
  }
  writer.join();
  EXPECT_EQ(got, much_);
  EXPECT_TRUE(output.status().ok());
}

TEST_P(UnreadOutputTest, AnInterjectionWaitsForNobody) {
  const Unread unread = GetParam()();
  Output output = Output::ForFd(unread.writer.get());
  output.Interject("first");
  std::thread writer([&] { output.Write(much_); });
  for (int i = 0; i < 100'000; ++i) output.Interject("again");
  output.WaitAtMost(absl::ZeroDuration());
  writer.join();
  char first[5];
  EXPECT_EQ(read(unread.reader.get(), first, sizeof first), 5);
  EXPECT_EQ(std::string(first, 5), "first");
}

INSTANTIATE_TEST_SUITE_P(All, UnreadOutputTest, testing::Values(&Pipe, &Socket));

TEST(OutputTest, ThePipeOfOthersStaysAsItIs) {
  const Unread unread = Pipe();
  const Output output = Output::ForFd(unread.writer.get());
  EXPECT_EQ(fcntl(unread.writer.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_TRUE(output.SharesWith(Output::ForFd(unread.writer.get())));
}

}  // namespace
}  // namespace hpc::client

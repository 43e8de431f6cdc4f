#include "worker/supervisor/output/rank_outputs.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <variant>

#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

TEST(RankOutputsTest, ThatLastWordsAreRefusedIsToldToo) {
  // No file can be made in a folder that is gone.
  char gone[] = "/tmp/rank_outputs_test.XXXXXX";
  ASSERT_NE(mkdtemp(gone), nullptr);
  ASSERT_EQ(chdir(gone), 0);
  ASSERT_EQ(rmdir(gone), 0);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd worker(ends[0]);
  Poller poller;
  WriterThread writer(&poller);
  ASSERT_TRUE(writer.Start());
  RankOutputs outputs(&poller, &writer);
  EventFeed feed(&poller, &outputs.states(), {});
  EventBook book(&writer, &feed);
  ASSERT_TRUE(outputs.Open({RankSpec{}}, 1 << 20));
  feed.AdoptOwn(UniqueFd(ends[1]));
  ASSERT_EQ(write(outputs.stdout_of(0).write_fd(), "last words", 10), 10);
  outputs.Finish();
  int told = 0;
  const int64_t deadline = BootTimeNs() + 10'000'000'000;
  for (bool last = false; told == 0 && !last; last = BootTimeNs() > deadline) {
    outputs.Tell(BootTimeNs(), &feed, &book);
    book.Turn(BootTimeNs());
    feed.Flush();
    char said[4096];
    const ssize_t n = recv(worker.get(), said, sizeof said, MSG_DONTWAIT);
    if (n > 0) {
      const auto event = DecodeSupervisorEvent(std::string(said, static_cast<size_t>(n)));
      ASSERT_TRUE(event);
      if (const auto* shortage = std::get_if<Shortage>(&*event)) told = shortage->error;
    } else {
      poller.Wait(std::min(deadline, BootTimeNs() + 100'000'000));
    }
  }
  EXPECT_EQ(told, ENOENT);
  EXPECT_EQ(outputs.states()[0].cut_bytes, 10);
  EXPECT_EQ(chdir("/"), 0);
}

}  // namespace
}  // namespace hpc::worker

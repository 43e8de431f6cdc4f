#include "worker/loop/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    out = UniqueFd(fds[0]);
    in = UniqueFd(fds[1]);
  }
  void Write() { EXPECT_EQ(write(in.get(), "x", 1), 1); }
  void Read() {
    char byte;
    EXPECT_EQ(read(out.get(), &byte, 1), 1);
  }
  UniqueFd out;
  UniqueFd in;
};

class EventLoopTest : public ::testing::Test {
 protected:
  void Round() { loop_.RunOnce(absl::ZeroDuration()); }
  MonoTime In(absl::Duration d) { return clock_.Get().mono + d; }

  FakeClock clock_;
  EventLoop loop_{&clock_};
  std::vector<std::string> seen_;
};

TEST_F(EventLoopTest, CallsForAReadyDescriptorUntilItIsRemoved) {
  Pipe pipe;
  loop_.Add(pipe.out.get(), EPOLLIN,
            [&](uint32_t events) { seen_.push_back(events & EPOLLIN ? "in" : "other"); });
  Round();
  EXPECT_THAT(seen_, IsEmpty());
  pipe.Write();
  Round();
  Round();
  EXPECT_THAT(seen_, ElementsAre("in", "in"));
  loop_.Remove(pipe.out.get());
  Round();
  EXPECT_EQ(seen_.size(), 2u);
}

TEST_F(EventLoopTest, ModifyChangesWhatIsWatchedFor) {
  Pipe pipe;
  loop_.Add(pipe.out.get(), EPOLLIN, [&](uint32_t) { seen_.push_back("in"); });
  pipe.Write();
  loop_.Modify(pipe.out.get(), 0);
  Round();
  EXPECT_THAT(seen_, IsEmpty());
  loop_.Modify(pipe.out.get(), EPOLLIN);
  Round();
  EXPECT_THAT(seen_, ElementsAre("in"));
}

TEST_F(EventLoopTest, ACallbackMayRemoveItself) {
  Pipe pipe;
  loop_.Add(pipe.out.get(), EPOLLIN, [&](uint32_t) {
    loop_.Remove(pipe.out.get());
    seen_.push_back("once");
  });
  pipe.Write();
  Round();
  Round();
  EXPECT_THAT(seen_, ElementsAre("once"));
}

TEST_F(EventLoopTest, NothingIsCalledForADescriptorRemovedInTheSameRound) {
  Pipe a;
  Pipe b;
  const auto remove_both = [&](uint32_t) {
    seen_.push_back("one");
    loop_.Remove(a.out.get());
    loop_.Remove(b.out.get());
  };
  loop_.Add(a.out.get(), EPOLLIN, remove_both);
  loop_.Add(b.out.get(), EPOLLIN, remove_both);
  a.Write();
  b.Write();
  Round();
  EXPECT_THAT(seen_, ElementsAre("one"));
}

TEST_F(EventLoopTest, ANewDescriptorDoesNotGetTheEventOfAnOldOneOfItsNumber) {
  Pipe a;
  Pipe b;
  std::optional<Pipe> fresh;
  // Whichever callback comes first closes the other's pipe and opens one that takes over its
  // number.
  const auto replace = [&](Pipe& other) {
    seen_.push_back("old");
    loop_.Remove(other.out.get());
    const int number = other.out.get();
    other.out.Reset();
    fresh.emplace();
    ASSERT_EQ(fresh->out.get(), number);
    loop_.Add(number, EPOLLIN, [&](uint32_t) { seen_.push_back("fresh"); });
  };
  loop_.Add(a.out.get(), EPOLLIN, [&](uint32_t) {
    loop_.Remove(a.out.get());
    replace(b);
  });
  loop_.Add(b.out.get(), EPOLLIN, [&](uint32_t) {
    loop_.Remove(b.out.get());
    replace(a);
  });
  a.Write();
  b.Write();
  Round();
  EXPECT_THAT(seen_, ElementsAre("old"));
  fresh->Write();
  Round();
  EXPECT_THAT(seen_, ElementsAre("old", "fresh"));
}

TEST_F(EventLoopTest, TimersFireInOrderOnceTheirTimeHasCome) {
  loop_.At(In(absl::Seconds(2)), [&] { seen_.push_back("2"); });
  loop_.At(In(absl::Seconds(1)), [&] { seen_.push_back("1a"); });
  loop_.At(In(absl::Seconds(1)), [&] { seen_.push_back("1b"); });
  Round();
  EXPECT_THAT(seen_, IsEmpty());
  clock_.Advance(absl::Seconds(1));
  Round();
  EXPECT_THAT(seen_, ElementsAre("1a", "1b"));
  clock_.Advance(absl::Seconds(5));
  Round();
  Round();
  EXPECT_THAT(seen_, ElementsAre("1a", "1b", "2"));
}

TEST_F(EventLoopTest, ACancelledTimerDoesNotFire) {
  const EventLoop::TimerId cancelled =
      loop_.At(In(absl::Seconds(1)), [&] { seen_.push_back("x"); });
  const EventLoop::TimerId fired = loop_.At(In(absl::Seconds(1)), [&] { seen_.push_back("y"); });
  loop_.Cancel(cancelled);
  clock_.Advance(absl::Seconds(1));
  Round();
  loop_.Cancel(fired);
  EXPECT_THAT(seen_, ElementsAre("y"));
}

TEST_F(EventLoopTest, ATimerMayCancelOneThatIsDueWithIt) {
  EventLoop::TimerId second = 0;
  loop_.At(In(absl::Seconds(1)), [&] { loop_.Cancel(second); });
  second = loop_.At(In(absl::Seconds(1)), [&] { seen_.push_back("second"); });
  clock_.Advance(absl::Seconds(1));
  Round();
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(EventLoopTest, ATimerSetByATimerWaitsForTheNextRound) {
  loop_.At(In(absl::ZeroDuration()), [&] {
    seen_.push_back("first");
    loop_.At(In(absl::ZeroDuration()), [&] { seen_.push_back("second"); });
  });
  Round();
  EXPECT_THAT(seen_, ElementsAre("first"));
  Round();
  EXPECT_THAT(seen_, ElementsAre("first", "second"));
}

TEST_F(EventLoopTest, PostedWorkRunsInOrder) {
  loop_.Post([&] {
    seen_.push_back("1");
    loop_.Post([&] { seen_.push_back("3"); });
  });
  loop_.Post([&] { seen_.push_back("2"); });
  Round();
  EXPECT_THAT(seen_, ElementsAre("1", "2"));
  Round();
  EXPECT_THAT(seen_, ElementsAre("1", "2", "3"));
}

TEST_F(EventLoopTest, WorkPostedByAnotherThreadWakesTheLoop) {
  std::thread other([&] { loop_.Post([&] { loop_.Stop(); }); });
  loop_.Run();
  other.join();
}

TEST_F(EventLoopTest, CallsAfterEachRound) {
  Pipe pipe;
  loop_.Add(pipe.out.get(), EPOLLIN, [&](uint32_t) {
    pipe.Read();
    seen_.push_back("event");
  });
  loop_.SetAfterRound([&] { seen_.push_back("after"); });
  pipe.Write();
  Round();
  EXPECT_THAT(seen_, ElementsAre("event", "after"));
}

}  // namespace
}  // namespace hpc::worker

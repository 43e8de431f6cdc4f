#include "worker/supervisor/output/writer_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

// A disk that hangs until it is released.
class Gate {
 public:
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    passed_ = true;
    changed_.notify_all();
  }
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void AwaitPassage() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return passed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false, passed_ = false;
};

TEST(WriterThreadTest, WorkIsDoneInOrderAndToldOnThePollersThread) {
  Poller poller;
  WriterThread writer(&poller);
  ASSERT_TRUE(writer.Start());
  std::vector<int> worked, told;
  std::thread::id worker;
  for (int i = 0; i < 3; ++i) {
    writer.Run(
        [&, i] {
          worked.push_back(i);
          worker = std::this_thread::get_id();
        },
        [&told, i] { told.push_back(i); });
  }
  while (told.size() < 3) poller.Wait(Poller::kNever);
  EXPECT_THAT(worked, ElementsAre(0, 1, 2));
  EXPECT_THAT(told, ElementsAre(0, 1, 2));
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(WriterThreadTest, MoreIsDoneLater) {
  Poller poller;
  WriterThread writer(&poller);
  ASSERT_TRUE(writer.Start());
  for (int i = 0; i < 100; ++i) {
    bool told = false;
    int result = 0;
    writer.Run([&result, i] { result = i; }, [&told] { told = true; });
    while (!told) poller.Wait(Poller::kNever);
    EXPECT_EQ(result, i);
  }
}

TEST(WriterThreadTest, WorkThatHangsHoldsNobodyUp) {
  auto gate = std::make_shared<Gate>();
  bool told = false;
  {
    Poller poller;
    WriterThread writer(&poller);
    ASSERT_TRUE(writer.Start());
    writer.Run([gate] { gate->Wait(); }, [&told] { told = true; });
    writer.Run([&told] { told = true; });
    EXPECT_FALSE(writer.WaitIdle(BootTimeNs() + kSecond / 100));
    poller.Wait(BootTimeNs() + kSecond / 100);
    EXPECT_FALSE(told);
  }
  gate->Open();
  gate->AwaitPassage();
  EXPECT_FALSE(told) << "what had not begun is dropped";
}

TEST(WriterThreadTest, WaitingForItEndsWithTheWork) {
  Poller poller;
  WriterThread writer(&poller);
  ASSERT_TRUE(writer.Start());
  int done = 0;
  for (int i = 0; i < 50; ++i) writer.Run([&done] { ++done; });
  EXPECT_TRUE(writer.WaitIdle(BootTimeNs() + 600 * kSecond));
  EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace hpc::worker

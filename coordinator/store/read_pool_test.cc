#include "coordinator/store/read_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakeEvent;
using testing::MakeProgram;
using testing::MakeRun;
using testing::TempDir;

constexpr size_t kThreads = 2;

// A read that stays in its snapshot until the test lets it go on.
class Held {
 public:
  void Wait() {
    begun_.set_value();
    go_on_.get_future().wait();
  }
  void AwaitBegun() { begun_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }

 private:
  std::promise<void> begun_, go_on_;
};

class ReadPoolTest : public ::testing::Test {
 protected:
  ReadPoolTest() : store_(*OpenSqliteStore(dir_.File("hpc.db"))) {
    std::vector<std::unique_ptr<StoreReader>> readers;
    for (size_t i = 0; i < kThreads; ++i) readers.push_back(*store_->OpenReader());
    pool_ = std::make_unique<ReadPool>(std::move(readers), [this](std::function<void()> work) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        posted_.push_back(std::move(work));
      }
      changed_.notify_all();
    });
  }

  void Commit(RunId run) {
    ASSERT_OK(store_->Commit(
        {.changes = {MakeRun(run), MakeEvent(run)}, .programs = {{run, MakeProgram()}}}));
  }

  // Starts a read. Its end is added to `ended_`, as its name and the code of its status.
  void Start(const std::string& name, ReadPool::Read read) {
    pool_->Start(std::move(read), [this, name](const absl::Status& status) {
      ended_.push_back(absl::StrCat(name, " ", absl::StatusCodeToString(status.code())));
    });
  }

  // Starts one read for each thread, and waits until they have begun.
  void HoldAllThreads(Held (&held)[kThreads]) {
    for (size_t i = 0; i < kThreads; ++i) {
      Start("held", [&held, i](StoreReader&) {
        held[i].Wait();
        return absl::OkStatus();
      });
    }
    for (Held& one : held) one.AwaitBegun();
  }

  // Waits for the ends of this many reads more.
  void AwaitEnds(size_t count) {
    for (; count > 0; --count) {
      std::function<void()> work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !posted_.empty(); });
        work = std::move(posted_.front());
        posted_.pop_front();
      }
      work();
    }
  }

  void AwaitPosted() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !posted_.empty(); });
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  std::vector<std::string> ended_;
  std::unique_ptr<ReadPool> pool_;
};

TEST_F(ReadPoolTest, AReadSeesWhatWasCommittedBeforeIt) {
  for (RunId run = 1; run <= 50; ++run) {
    Commit(run);
    Start("read", [run](StoreReader& reader) { return reader.GetRun(run).status(); });
    AwaitEnds(1);
    ASSERT_EQ(ended_.back(), "read OK") << run;
  }
}

TEST_F(ReadPoolTest, ItsOwnErrorIsHowAReadEnds) {
  Start("read", [](StoreReader& reader) { return reader.GetRun(7).status(); });
  AwaitEnds(1);
  EXPECT_THAT(ended_, ElementsAre("read NOT_FOUND"));
}

TEST_F(ReadPoolTest, AReadIsOfOneMomentAndNobodyWhoWritesWaitsForIt) {
  Commit(1);
  Held held;
  size_t before = 0;
  size_t after = 0;
  Start("long", [&](StoreReader& reader) {
    before = reader.ListEvents({})->size();
    held.Wait();
    after = reader.ListEvents({})->size();
    return absl::OkStatus();
  });
  held.AwaitBegun();
  for (RunId run = 2; run <= 100; ++run) Commit(run);
  held.GoOn();
  AwaitEnds(1);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
}

TEST_F(ReadPoolTest, OthersReadWhatIsNewWhileALongReadIsUnderWay) {
  Held held;
  Start("long", [&](StoreReader& reader) {
    const absl::Status status = reader.ListEvents({}).status();
    held.Wait();
    return status;
  });
  held.AwaitBegun();
  Commit(1);
  Start("short", [](StoreReader& reader) { return reader.GetRun(1).status(); });
  AwaitEnds(1);
  EXPECT_THAT(ended_, ElementsAre("short OK"));
  held.GoOn();
  AwaitEnds(1);
  EXPECT_THAT(ended_, ElementsAre("short OK", "long OK"));
}

TEST_F(ReadPoolTest, ReadsThatFindNoThreadFreeWaitTheirTurn) {
  Held held[kThreads];
  HoldAllThreads(held);
  std::vector<int> order;
  for (int i = 1; i <= 3; ++i) {
    Start("next", [&order, i](StoreReader&) {
      order.push_back(i);  // one thread is free, so these run one after the other
      return absl::OkStatus();
    });
  }
  EXPECT_THAT(order, IsEmpty());
  held[0].GoOn();
  AwaitEnds(4);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  held[1].GoOn();
  AwaitEnds(1);
}

TEST_F(ReadPoolTest, WhatHasNotBegunWhenItStopsIsNotReadButTold) {
  // Each thread reads until somebody has been told something.
  absl::BlockingCounter begun(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    Start("begun", [&](StoreReader&) {
      begun.DecrementCount();
      AwaitPosted();
      return absl::OkStatus();
    });
  }
  begun.Wait();
  bool read = false;
  Start("queued", [&](StoreReader&) {
    read = true;
    return absl::OkStatus();
  });
  pool_->Stop(absl::UnavailableError("the coordinator stops"));
  Start("late", [](StoreReader&) { return absl::OkStatus(); });
  AwaitEnds(kThreads + 2);
  EXPECT_THAT(ended_,
              ElementsAre("queued UNAVAILABLE", "begun OK", "begun OK", "late UNAVAILABLE"));
  EXPECT_FALSE(read);
}

TEST_F(ReadPoolTest, WhenTheStoreIsClosedAfterItTheDatabaseIsOneFile) {
  Commit(1);
  Start("read", [](StoreReader& reader) { return reader.GetRun(1).status(); });
  AwaitEnds(1);
  pool_.reset();
  store_.reset();
  EXPECT_EQ(access(dir_.File("hpc.db").c_str(), F_OK), 0);
  EXPECT_NE(access(dir_.File("hpc.db-wal").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hpc::coordinator

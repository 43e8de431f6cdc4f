// Threads that read the store, so that whoever asks need not wait for the disk. Each has a
// connection of its own.
#ifndef HPC_COORDINATOR_STORE_READ_POOL_H_
#define HPC_COORDINATOR_STORE_READ_POOL_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator {

// Start and Stop are called by one thread, the owner's.
class ReadPool {
 public:
  // What is to be read. It is called on a thread of the pool, in a snapshot.
  using Read = std::function<absl::Status(StoreReader&)>;
  // Is told what `Read` returned, or why it was not called or its snapshot has failed.
  using Done = std::function<void(const absl::Status&)>;
  // Leaves work to the owner's thread, and does not wait for it. May be called on any thread.
  using Post = std::function<void(std::function<void()>)>;

  // Each reader gets a thread.
  ReadPool(std::vector<std::unique_ptr<StoreReader>> readers, Post post);
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  // Reads as soon as a thread is free, in the order of the calls, and then posts `done`. The read
  // sees everything that Store::Commit has returned for by now.
  void Start(Read read, Done done);

  // Waits for the reads that have begun. Those that have not, and those that are started later, end
  // with `why`, which is an error. When this returns, no thread is left.
  void Stop(const absl::Status& why);

 private:
  struct Task {
    Read read;
    Done done;
  };

  void Work(StoreReader* reader);
  // Waits for the next task. False: the pool has been stopped.
  bool Take(Task* task);

  const std::vector<std::unique_ptr<StoreReader>> readers_;
  const Post post_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  absl::Status stopped_;  // why there are no more reads, once it is not OK

  std::vector<std::thread> threads_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_READ_POOL_H_

// A thread for work that may block (file systems, interpreters, drivers), so that the loop never
// does.
#ifndef HPC_WORKER_LOOP_BACKGROUND_H_
#define HPC_WORKER_LOOP_BACKGROUND_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "worker/loop/event_loop.h"

namespace hpc::worker {

// To be used from the loop's thread only.
class Background {
 public:
  explicit Background(EventLoop* loop);
  // Waits a moment for the work in progress. Work that hangs (a dead network disk) is left to
  // itself. Work that has not begun is dropped, and nothing is called on the loop any more.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Runs `work` on the thread, in the order of the calls, and then `done` on the loop.
  void Run(std::function<void()> work, std::function<void()> done);

  // The same for work that has a result.
  template <typename T>
  void Ask(std::function<T()> work, std::function<void(T)> done) {
    auto result = std::make_shared<std::optional<T>>();
    Run([result, work = std::move(work)] { *result = work(); },
        [result, done = std::move(done)] { done(*std::move(*result)); });
  }

 private:
  struct Shared;
  static void Loop(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LOOP_BACKGROUND_H_

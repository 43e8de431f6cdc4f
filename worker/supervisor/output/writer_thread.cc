#include "worker/supervisor/output/writer_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "common/unique_fd.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

// The thread's work needs little stack, and a smaller stack makes its start faster.
constexpr size_t kStackBytes = 256 << 10;

}  // namespace

struct WriterThread::Shared {
  struct Job {
    std::function<void()> work, done;
  };

  UniqueFd done_fd;  // readable: something is in `done`
  std::mutex mutex;
  std::condition_variable changed;
  // The mutex guards everything below.
  std::deque<Job> jobs;
  std::deque<std::function<void()>> done;
  bool started = false;
  bool busy = false;  // with a job that is no longer in `jobs`
  bool told = false;  // done_fd is readable
  bool stopped = false;
  bool ended = false;

  bool Idle() const { return jobs.empty() && !busy; }
  void TellDone(std::function<void()> one) {
    if (!one) return;
    done.push_back(std::move(one));
    if (std::exchange(told, true)) return;
    const uint64_t count = 1;
    (void)!write(done_fd.get(), &count, sizeof count);
  }
};

WriterThread::WriterThread(Poller* poller) : poller_(poller), shared_(std::make_shared<Shared>()) {}

WriterThread::~WriterThread() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  if (!shared_->started) return;
  poller_->Remove(shared_->done_fd.get());
  shared_->stopped = true;
  shared_->jobs.clear();
  shared_->changed.notify_all();
  shared_->changed.wait(lock, [this] { return shared_->busy || shared_->ended; });
}

bool WriterThread::Start() {
  if (shared_->started) return true;
  shared_->done_fd.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!shared_->done_fd.ok()) return false;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto owned = std::make_unique<std::shared_ptr<Shared>>(shared_);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &WriterThread::Loop, owned.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    errno = error;
    return false;
  }
  owned.release();
  shared_->started = true;
  poller_->Add(shared_->done_fd.get(), [this] { OnDone(); });
  return true;
}

void WriterThread::Run(std::function<void()> work, std::function<void()> done) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  const bool sleeps = shared_->Idle();
  shared_->jobs.push_back({std::move(work), std::move(done)});
  if (sleeps) shared_->changed.notify_all();
}

bool WriterThread::WaitIdle(int64_t deadline_ns) {
  const auto left = std::chrono::nanoseconds(std::max<int64_t>(deadline_ns - BootTimeNs(), 0));
  std::unique_lock<std::mutex> lock(shared_->mutex);
  return shared_->changed.wait_for(lock, left, [this] { return shared_->Idle(); });
}

void WriterThread::OnDone() {
  for (const auto& one : TakeDone()) one();
}

std::deque<std::function<void()>> WriterThread::TakeDone() {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  uint64_t ignored;
  (void)!read(shared_->done_fd.get(), &ignored, sizeof ignored);
  shared_->told = false;
  return std::exchange(shared_->done, {});
}

void WriterThread::Forget() {
  (void)TakeDone();
  poller_->Remove(shared_->done_fd.get());
  poller_->Add(shared_->done_fd.get(), [this] { OnDone(); });
}

void* WriterThread::Loop(void* argument) {
  const std::unique_ptr<std::shared_ptr<Shared>> owned(
      static_cast<std::shared_ptr<Shared>*>(argument));
  Shared& shared = **owned;
  std::unique_lock<std::mutex> lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.stopped || !shared.jobs.empty(); });
    if (shared.stopped) break;
    Shared::Job job = std::move(shared.jobs.front());
    shared.jobs.pop_front();
    shared.busy = true;
    lock.unlock();
    job.work();
    job.work = nullptr;
    lock.lock();
    shared.busy = false;
    shared.TellDone(std::move(job.done));
    if (shared.jobs.empty()) shared.changed.notify_all();
  }
  shared.ended = true;
  shared.changed.notify_all();
  return nullptr;
}

}  // namespace hpc::worker

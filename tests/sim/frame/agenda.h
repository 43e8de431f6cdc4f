// Virtual time: what happens when. What is planned for the same moment happens in the order of
// planning.
#ifndef HPC_TESTS_SIM_FRAME_AGENDA_H_
#define HPC_TESTS_SIM_FRAME_AGENDA_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "tests/sim/frame/random.h"

namespace hpc::sim {

class Agenda {
 public:
  MonoTime now() const { return now_; }
  Now clock() const { return {now_, absl::FromUnixSeconds(1'767'225'600) + now_.since_zero}; }

  void At(MonoTime at, std::function<void()> what) {
    heap_.push_back({std::max(at, now_), next_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  void After(absl::Duration d, std::function<void()> what) { At(now_ + d, std::move(what)); }
  // Like After, but `what` does not happen if `who` is gone by then.
  template <typename T, typename F>
  void AfterFor(const std::shared_ptr<T>& who, absl::Duration d, F what) {
    After(d, [weak = std::weak_ptr<T>(who), what = std::move(what)] {
      if (const std::shared_ptr<T> alive = weak.lock()) what();
    });
  }

  // Does the next thing that was planned, unless it is planned for later than `limit`.
  bool Step(MonoTime limit) {
    if (heap_.empty() || heap_.front().at > limit) return false;
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const Entry entry = std::move(heap_.back());
    heap_.pop_back();
    now_ = entry.at;
    entry.what();
    return true;
  }
  void PassUntil(MonoTime at) { now_ = std::max(now_, at); }

 private:
  struct Entry {
    MonoTime at;
    uint64_t number;
    std::function<void()> what;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.at == b.at ? a.number > b.number : a.at > b.at;
  }

  MonoTime now_{};
  uint64_t next_ = 0;
  std::vector<Entry> heap_;
};

// A process or a machine that may stand still. Whatever happens to it then waits. What comes from
// one side stays in order. When it goes on, chance decides which side is read first, as for a
// process that finds several descriptors readable.
class Gate {
 public:
  enum class Side { kSelf, kCoordinator, kSupervisors };
  Gate(Agenda* agenda, Random* random) : agenda_(agenda), random_(random) {}

  bool open() const { return open_; }
  void Close() { open_ = false; }
  void Open() {
    open_ = true;
    std::map<Side, std::deque<std::function<void()>>> sides = std::exchange(waiting_, {});
    while (!sides.empty()) {
      auto side = std::next(sides.begin(), random_->Below(static_cast<int>(sides.size())));
      agenda_->After({}, std::move(side->second.front()));
      side->second.pop_front();
      if (side->second.empty()) sides.erase(side);
    }
  }
  void Drop() { waiting_.clear(); }
  void Run(std::function<void()> what, Side side = Side::kSelf) {
    if (open_) {
      what();
    } else {
      waiting_[side].push_back(std::move(what));
    }
  }

 private:
  Agenda* agenda_;
  Random* random_;
  bool open_ = true;
  std::map<Side, std::deque<std::function<void()>>> waiting_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_AGENDA_H_

// Notes what happened, to explain a seed that failed. It costs nothing while it is off: a seed that
// fails is run once more with it.
#ifndef HPC_TESTS_SIM_FRAME_TRACE_H_
#define HPC_TESTS_SIM_FRAME_TRACE_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/frame/agenda.h"

namespace hpc::sim {

class Trace {
 public:
  Trace(bool on, const Agenda* agenda) : on_(on), agenda_(agenda) {}

  bool on() const { return on_; }
  template <typename... Args>
  void Note(const Args&... args) {
    if (!on_) return;
    lines_.push_back(absl::StrFormat("%12.6f  %s", absl::ToDoubleSeconds(agenda_->now().since_zero),
                                     absl::StrCat(args...)));
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool on_;
  const Agenda* agenda_;
  std::vector<std::string> lines_;
};

// The first invariant that was broken.
class Verdict {
 public:
  explicit Verdict(Trace* trace) : trace_(trace) {}

  template <typename... Args>
  void Broken(const char* invariant, const Args&... args) {
    if (!invariant_.empty()) return;
    invariant_ = invariant;
    text_ = absl::StrCat(args...);
    trace_->Note("BROKEN: ", text_);
  }
  bool ok() const { return invariant_.empty(); }
  const std::string& invariant() const { return invariant_; }
  const std::string& text() const { return text_; }

 private:
  Trace* trace_;
  std::string invariant_, text_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_TRACE_H_

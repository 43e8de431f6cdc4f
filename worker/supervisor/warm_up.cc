#include "worker/supervisor/warm_up.h"

#include <fcntl.h>

#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/protocol/python_words.h"

namespace hpc::worker {
namespace {

constexpr int64_t kAfter = 5'000'000'000;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr char kNote[] = "python";

}  // namespace

std::string WarmUp::NoteVariable(const std::string& attempt_dir) {
  return "HPC_PYTHON_NOTE=" + attempt_dir + "/" + kNote;
}

void WarmUp::Begin(const LaunchPlan& plan, int64_t pid, int64_t now_ns) {
  words_ = WordsOfPython(plan.rank->argv);
  if (words_ == 0) return;
  plan_ = plan;
  rank_ = *plan.rank;
  added_env_ = *plan.added_env;
  plan_.rank = &rank_;
  plan_.added_env = &added_env_;
  pid_ = pid;
  look_ns_ = now_ns + kAfter;
}

void WarmUp::Advance(int64_t now_ns) {
  if (now_ns >= look_ns_) LookNow();
}

// A Python with the rank's pid has noted in the attempt's folder, which is the current one, that it
// runs our sitecustomize.py.
void WarmUp::LookNow() {
  look_ns_ = kNever;
  if (pid_ < 0 || noted_ != nullptr) return;
  noted_ = std::make_shared<bool>(false);
  writer_->Run(
      [noted = noted_, pid = pid_] {
        const auto numbers = Numbers(ReadSmallFile(AT_FDCWD, kNote).value_or(""));
        *noted = numbers.size() == 1 && numbers[0] == pid;
      },
      [this] { Finish(); });
}

void WarmUp::Finish() {
  if (pid_ < 0 || noted_ == nullptr || !*noted_) return;
  pid_ = -1;
  (void)parent_->Start(plan_, words_, containment_);
}

void WarmUp::Forget() {
  pid_ = -1;
  look_ns_ = kNever;
}

}  // namespace hpc::worker

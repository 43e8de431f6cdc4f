#include "worker/supervisor/warm_up.h"

#include <fcntl.h>

#include "worker/supervisor/os/small_file.h"

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

// The note is in the attempt's folder, which is the current one: the pid of the Python that wrote
// it, and the index of its script among its words. In a command such as a shell's script that
// Python is another process than the rank.
void WarmUp::LookNow() {
  look_ns_ = kNever;
  if (pid_ < 0 || note_ != nullptr) return;
  note_ = std::make_shared<Note>();
  writer_->Run(
      [note = note_, pid = pid_] {
        const auto numbers = Numbers(ReadSmallFile(AT_FDCWD, kNote).value_or(""));
        note->is_ours = numbers.size() == 2 && numbers[0] == pid;
        if (note->is_ours) note->words = static_cast<size_t>(numbers[1]) + 1;
      },
      [this] { Finish(); });
}

void WarmUp::Finish() {
  if (pid_ < 0 || note_ == nullptr || !note_->is_ours) return;
  pid_ = -1;
  plan_.leaf = containment_->KeptLeaf();
  if (plan_.leaf != nullptr) (void)parent_->Start(plan_, note_->words);
}

void WarmUp::Forget() {
  pid_ = -1;
  look_ns_ = kNever;
}

}  // namespace hpc::worker

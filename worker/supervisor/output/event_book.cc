#include "worker/supervisor/output/event_book.h"

#include <algorithm>
#include <utility>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/poller.h"

namespace hpc::worker {
namespace {

constexpr int64_t kRetry = 1'000'000'000;

}  // namespace

EventBook::EventBook(WriterThread* writer, EventFeed* feed)
    : writer_(writer),
      feed_(feed),
      journal_(std::make_shared<JournalFile>()),
      retry_ns_(Poller::kNever) {}

void EventBook::Adopt(UniqueFd journal, size_t ranks) {
  auto file = std::make_shared<UniqueFd>(std::move(journal));
  writer_->Run([journal = journal_, file, ranks] { journal->Adopt(std::move(*file), ranks); });
}

void EventBook::AddLine(const std::string& line) {
  if (!line.empty()) lines_ += line + "\n";
}

void EventBook::Record(SupervisorEvent event) {
  if (std::holds_alternative<Shortage>(event)) flawless_ = false;
  AddLine(JournalLine(event));
  waiting_.push_back({std::move(event), begun_ + 1, BootTimeNs() + kPatience});
}

void EventBook::RecordLast(const AllGone& gone, int64_t deadline_ns) {
  Record(gone);
  waiting_.back().due_ns = deadline_ns;
  last_ = gone;
}

void EventBook::Write(int64_t now) {
  const bool wanted = !lines_.empty() || (!waiting_.empty() && waiting_.back().number > begun_);
  if (!wanted && now < retry_ns_) return;
  retry_ns_ = Poller::kNever;
  auto whole = std::make_shared<bool>(false);
  writer_->Run(
      [journal = journal_, lines = std::exchange(lines_, {}), whole] {
        journal->Add(lines);
        *whole = journal->Write();
      },
      [this, number = ++begun_, whole] {
        written_ = number;
        if (*whole) return;
        flawless_ = false;
        retry_ns_ = BootTimeNs() + kRetry;
      });
}

void EventBook::Show(int64_t now) {
  while (!waiting_.empty()) {
    Waiting& next = waiting_.front();
    if (next.number > written_ && now < next.due_ns) return;
    if (last_ && waiting_.size() == 1) {
      feed_->PublishLast(*last_);
      ended_ = true;
    } else {
      feed_->Publish(std::move(next.event));
    }
    waiting_.pop_front();
  }
}

void EventBook::Turn(int64_t now) {
  Write(now);
  Show(now);
}

void EventBook::Sync() {
  writer_->Run([journal = journal_] { journal->Sync(); });
}

int64_t EventBook::NextDeadline() const {
  return waiting_.empty() ? retry_ns_ : std::min(retry_ns_, waiting_.front().due_ns);
}

}  // namespace hpc::worker

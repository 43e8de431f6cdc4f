// Events of the ranks on their way to whoever listens: written into the journal first, then shown.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_BOOK_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_BOOK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/unique_fd.h"
#include "worker/supervisor/output/event_feed.h"
#include "worker/supervisor/output/journal_file.h"
#include "worker/supervisor/output/writer_thread.h"
#include "worker/supervisor/protocol/journal_line.h"

namespace hpc::worker {

// A disk that hangs keeps nobody from hearing of an event for longer than kPatience, nor of the end
// for longer than kFilesPatience. One that is full keeps nobody waiting at all: what it refuses is
// tried again once a second.
class EventBook {
 public:
  static constexpr int64_t kPatience = 1'000'000'000;
  static constexpr int64_t kFilesPatience = 8'000'000'000;

  EventBook(WriterThread* writer, EventFeed* feed);

  // Goes on in `journal`, of an attempt of so many ranks.
  void Adopt(UniqueFd journal, size_t ranks);

  void Begin(const JournalHeader& header) { lines_ += JournalLine(header) + "\n"; }
  // Written down, then shown.
  void Record(SupervisorEvent event);
  // Only written down.
  void Note(const SupervisorEvent& event) { AddLine(JournalLine(event)); }
  // The last one, shown after everything else and by `deadline_ns` at the latest.
  void RecordLast(const AllGone& gone, int64_t deadline_ns);

  // What was recorded since the last call goes to the writer at once, and what may be shown to the
  // feed.
  void Turn(int64_t now);
  // Makes what is written survive a power cut too, in a while.
  void Sync();
  int64_t NextDeadline() const;
  // Whether the last event has been shown.
  bool Ended() const { return ended_; }
  // Whether all of it is written down, and nothing was ever lacking.
  bool Flawless() const { return flawless_ && written_ == begun_ && lines_.empty(); }

 private:
  struct Waiting {
    SupervisorEvent event;
    uint64_t number;  // of the writing that it is in
    int64_t due_ns;
  };
  void AddLine(const std::string& line);
  void Write(int64_t now);
  void Show(int64_t now);

  WriterThread* writer_;
  EventFeed* feed_;
  std::shared_ptr<JournalFile> journal_;
  std::string lines_;
  std::deque<Waiting> waiting_;
  std::optional<AllGone> last_;
  uint64_t begun_ = 0, written_ = 0;  // writings
  int64_t retry_ns_;                  // when to try again what the disk refused
  bool ended_ = false;
  bool flawless_ = true;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_BOOK_H_

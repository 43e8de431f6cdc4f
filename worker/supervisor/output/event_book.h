// Events of the ranks on their way to the listeners. They are written into the journal first, and
// shown after that.
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

// A disk that hangs delays an event by kPatience at most, and the end by kFilesPatience at most. A
// full disk delays nothing: what it refuses is tried again once a second.
class EventBook {
 public:
  static constexpr int64_t kPatience = 1'000'000'000;
  static constexpr int64_t kFilesPatience = 8'000'000'000;

  EventBook(WriterThread* writer, EventFeed* feed);

  // Goes on in `journal`, for an attempt with this many ranks.
  void Adopt(UniqueFd journal, size_t ranks);

  void Begin(const JournalHeader& header) { lines_ += JournalLine(header) + "\n"; }
  // The event is written down, and then shown.
  void Record(SupervisorEvent event);
  // The event is only written down.
  void Note(const SupervisorEvent& event) { AddLine(JournalLine(event)); }
  // The last event. It is shown after everything else, but by `deadline_ns` at the latest.
  void RecordLast(const AllGone& gone, int64_t deadline_ns);

  // Gives the writer what was recorded since the last call, and the feed what may be shown.
  void Turn(int64_t now);
  // Makes what is written survive a power cut, too. Returns before that is done.
  void Sync();
  int64_t NextDeadline() const;
  // Whether the last event has been shown.
  bool Ended() const { return ended_; }
  // Whether everything is written down, and nothing was ever lacking.
  bool Flawless() const { return flawless_ && written_ == begun_ && lines_.empty(); }

 private:
  struct Waiting {
    SupervisorEvent event;
    uint64_t number;  // of the write that contains it
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
  uint64_t begun_ = 0, written_ = 0;  // writes
  int64_t retry_ns_;                  // when to try again what the disk refused
  bool ended_ = false;
  bool flawless_ = true;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_BOOK_H_

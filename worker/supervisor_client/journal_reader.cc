#include "worker/supervisor_client/journal_reader.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor_client/foreign_file.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

// Far more than any real journal. Whoever wrote it may have tried to fill our memory.
constexpr size_t kMaxJournal = 16 << 20;

// The two outputs of a rank, as large as their files are. Whoever wrote them is gone.
void AddOutputs(const std::string& dir, const std::vector<OutputGrown>& cuts, int32_t rank,
                std::vector<SupervisorEvent>* events) {
  for (const bool is_stderr : {false, true}) {
    const std::string name = "/rank-" + std::to_string(rank) + (is_stderr ? ".err" : ".out");
    OutputGrown output{.rank = rank, .is_stderr = is_stderr, .bytes = ForeignFileSize(dir + name)};
    output.ended = true;
    for (const OutputGrown& cut : cuts) {
      if (cut.rank == rank && cut.is_stderr == is_stderr) output.cut_bytes = cut.cut_bytes;
    }
    events->push_back(output);
  }
}

// Finds where the lines below the last title begin. False: the last title is not `title`.
bool FindTitle(const std::string& text, const std::string& title, size_t* begin) {
  const std::string line = title + "\n", kind = title.substr(0, title.find(' ') + 1);
  const size_t last = text.rfind("\n" + kind);
  const size_t at = last == std::string::npos ? 0 : last + 1;
  *begin = at + line.size();
  return text.compare(at, line.size(), line) == 0;
}

}  // namespace

bool Journal::AllGone() const {
  return !events.empty() && std::holds_alternative<worker::AllGone>(events.back());
}

absl::StatusOr<Journal> ReadJournalFile(const std::string& dir) {
  HPC_ASSIGN_OR_RETURN(const std::string text,
                       ReadForeignFile(RecordPath(dir, kJournalName), kMaxJournal));
  size_t from = 0, to;
  if (!FindTitle(text, JournalTitle(dir), &from)) {
    return absl::NotFoundError(RecordPath(dir, kJournalName) + " is of another attempt");
  }
  Journal journal;
  while ((to = text.find('\n', from)) != std::string::npos) {
    auto line = ParseJournalLine(text.substr(from, to - from));
    from = to + 1;
    if (auto* header = std::get_if<JournalHeader>(&line)) {
      journal.header = std::move(*header);
    } else if (auto* event = std::get_if<SupervisorEvent>(&line)) {
      if (auto* cut = std::get_if<OutputGrown>(event)) {
        journal.cuts.push_back(*cut);
      } else {
        journal.events.push_back(std::move(*event));
      }
    }
  }
  return journal;
}

bool BeganInAnotherBoot(const std::string& dir) {
  const absl::StatusOr<Journal> journal = ReadJournalFile(dir);
  return journal.ok() && journal->header && journal->header->boot_id != BootId();
}

absl::StatusOr<std::vector<SupervisorEvent>> ReadJournal(const std::string& dir) {
  HPC_ASSIGN_OR_RETURN(Journal journal, ReadJournalFile(dir));
  std::vector<SupervisorEvent> outputs;
  for (const SupervisorEvent& event : journal.events) {
    if (const auto* started = std::get_if<RankStarted>(&event)) {
      AddOutputs(dir, journal.cuts, started->rank, &outputs);
    }
  }
  // AllGone stays last, since nothing is told after it.
  const auto at = journal.AllGone() ? journal.events.end() - 1 : journal.events.end();
  journal.events.insert(at, outputs.begin(), outputs.end());
  return std::move(journal.events);
}

}  // namespace hpc::worker

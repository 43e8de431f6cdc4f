// Requests to the worker's socket, and the files that an earlier worker and its ranks have left,
// with any bytes in them. Each is either accepted, or is an error that says what is wrong with it.
// What is accepted can be used, and takes no more memory than it may.
//
// The first byte says which of them it is.
#include <stdlib.h>

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "protocol/limits.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/attempts/python_traceback.h"
#include "worker/attempts/rank_report.h"
#include "worker/attempts/run_dirs.h"
#include "worker/core/witness.h"
#include "worker/core/yield.h"
#include "worker/owner/control_request.h"
#include "worker/owner/owner_file.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/quick_file.h"

namespace hpc::worker {
namespace {

constexpr Now kNow{MonoTime{absl::Seconds(1000)}, absl::FromUnixSeconds(1'795'219'562)};

void Check(bool holds) {
  if (!holds) abort();
}

// A state directory, used for all inputs.
class Files {
 public:
  Files() : dir_("/dev/shm/state_files_fuzz_XXXXXX") {
    Check(mkdtemp(dir_.data()) != nullptr);
    Check(MakeDirs(dir_ + "/runs/12/checkpoints", 0700).ok());
  }
  ~Files() { RemoveTree(dir_).IgnoreError(); }

  const std::string& dir() const { return dir_; }
  void Put(const std::string& name, const std::string& bytes) const {
    Check(WriteQuickly(dir_ + "/" + name, bytes).ok());
  }

 private:
  std::string dir_;
};

void Control(const std::string& line) {
  const auto request = ParseControlRequest(line);
  if (!request.ok()) return Check(!request.status().message().empty());
  Yield yield(kNow, {});
  yield.Reclaim(kNow, request->reclaim);
  const auto left = yield.Left(kNow);
  Check(!left || (*left > absl::ZeroDuration() && *left < absl::Hours(24 * 4000)));
  Check(request->reclaim.grace >= absl::ZeroDuration());
}

void Attempt(const std::string& dir, size_t most) {
  const auto file = ReadAttemptFile(dir);
  if (!file.ok()) return Check(absl::StrContains(file.status().message(), "/record"));
  const std::vector<int32_t> ranks = file->RankNumbers();
  Check(ranks.size() <= protocol::kMaxRanks && (ranks.empty() || ranks.front() >= 0));
  Check(file->stop_grace >= absl::ZeroDuration() && file->stop_grace <= protocol::kMaxSpan);
  Check(file->devices.size() <= most);
}

void Vouching(const std::string& dir) {
  const auto record = ReadWitnessRecord(dir);
  if (!record) return;
  Check(record->node_rank >= 0 && record->node_rank < record->nodes);
  Witness witness({12, 1}, record->nodes);
  (void)witness.WholeAt();
}

void Record(const Files& files, const std::string& bytes) {
  files.Put("record", bytes);
  Attempt(files.dir(), bytes.size());
  Vouching(files.dir());
  const auto store = ReadStoreRecord(files.dir());
  Check(!store || (store->port >= 0 && store->port <= 65535));
  Check(!absl::StrContains(RecordedHeldCgroup(files.dir() + "/ranks"), '\n'));
  // A line can be added whatever the file holds. It can be read back unless the end of the file is
  // torn.
  Check(AddToRecord(files.dir(), {"arrived", "7"}).ok());
  const bool whole = bytes.empty() || bytes.back() == '\n';
  Check(!whole || ReadRecord(files.dir(), "arrived").value_or("") == "7");
}

void OwnerJson(const Files& files, const std::string& bytes) {
  files.Put("owner.json", bytes);
  const auto owner = ReadOwnerFile(files.dir());
  if (!owner.ok()) return Check(absl::StrContains(owner.status().message(), "owner.json"));
  Yield yield(kNow, *owner);
  yield.Tick(kNow);
  (void)yield.Left(kNow);
  Check(WriteOwnerFile(files.dir(), yield.state()).ok());
  const auto again = ReadOwnerFile(files.dir());
  Check(again.ok() && *again == yield.state());
}

void RunsJson(const Files& files, const std::string& bytes) {
  files.Put("runs.json", bytes);
  RemoveOldRunDirs(files.dir(), absl::CivilDay(2026, 11, 22), /*keep_days=*/0);
  RemoveOldRunDirs(files.dir(), absl::CivilDay(2026, 11, 23), /*keep_days=*/0);
}

void ErrorJson(const std::string& bytes) {
  const auto report = ParseErrorFile(bytes);
  Check(!report || report->message.size() <= kMaxWords);
  Check(LastLines(bytes, kLastLines, kMaxWords).size() <= kMaxWords);
  const auto traceback = FindTraceback(bytes);
  Check(!traceback || traceback->message.size() <= bytes.size());
}

}  // namespace
}  // namespace hpc::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::worker;  // NOLINT: so that the calls read as elsewhere
  static const Files files;
  hpc::SetLogLevel(hpc::LogLevel::kError);
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      Control(bytes);
      break;
    case 1:
      Record(files, bytes);
      break;
    case 2:
      OwnerJson(files, bytes);
      break;
    case 3:
      RunsJson(files, bytes);
      break;
    default:
      ErrorJson(bytes);
  }
  return 0;
}

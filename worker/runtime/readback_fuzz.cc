// What a worker reads back of an attempt that an earlier one has left: the journal of its
// supervisor, and what its ranks wrote and logged, with any bytes in them. The coordinator loses
// connections, and may claim that it has anything. A hello can be made from what was read. At a
// coordinator that does not lie, output arrives complete and in order; at any coordinator, it comes
// to its end.
//
// The input is a sequence of acts. Each has one byte that says what it is, the length of its bytes
// (two, little endian), and its bytes.
#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "worker/attempts/adoption.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/rank_exit.h"
#include "worker/core/agent.h"
#include "worker/shipping/log_shipper.h"
#include "worker/shipping/metric_shipper.h"
#include "worker/supervisor_client/quick_file.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

constexpr AttemptRef kRef{12, 2};
constexpr int64_t kBootNs = 10'000'000'000;
constexpr size_t kMaxActs = 40;

void Check(bool holds) {
  if (!holds) abort();
}

// The folder of an attempt, used for all inputs.
class Folder {
 public:
  Folder() : dir_("/dev/shm/readback_fuzz_XXXXXX") { Check(mkdtemp(dir_.data()) != nullptr); }
  ~Folder() { RemoveTree(dir_).IgnoreError(); }

  const std::string& dir() const { return dir_; }
  std::string ranks() const { return dir_ + "/ranks"; }
  void Clear() const {
    RemoveTree(ranks()).IgnoreError();
    for (const char* name : {"journal", "metrics-0.base"}) unlink((dir_ + "/" + name).c_str());
    Check(MakeDirs(ranks(), 0700).ok());
  }
  void Put(const std::string& name, const std::string& bytes) const {
    Check(WriteQuickly(dir_ + "/" + name, bytes).ok());
  }
  void Append(const std::string& name, const std::string& bytes) const {
    const UniqueFd fd(open((dir_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    Check(write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  std::string Read(const std::string& name) const {
    return ReadFile(dir_ + "/" + name).value_or("");
  }

 private:
  std::string dir_;
};

class Story {
 public:
  explicit Story(const Folder* folder) : folder_(*folder) {
    folder_.Clear();
    Begin();
  }

  void Do(uint8_t what, const std::string& bytes) {
    const bool is_stderr = (what & 0x80) != 0;
    switch (what % 13) {
      case 0:
        return folder_.Put("journal", JournalTitle(folder_.ranks()) + "\n" + bytes);
      case 1:
        return Print(is_stderr, bytes);
      case 2:
        return folder_.Put("ranks/metrics-0.jsonl", bytes);
      case 3:
        return folder_.Append("ranks/metrics-0.jsonl", bytes);
      case 4:
        return folder_.Put("metrics-0.base", bytes);
      case 5:
        return folder_.Put("ranks/error-0.json", bytes);
      case 6:
        return Begin();
      case 7:
        return Pump();
      case 8:
        return Connect();
      case 9:
        return Acknowledge(is_stderr);
      case 10:
        return Lie(is_stderr, bytes);
      case 11:
        metrics_->OnAck({kRef, 0, Number(bytes)});
        return;
      default:
        return Finish();
    }
  }

  // Everything is said to a coordinator that stays and takes what it is given.
  void Finish() {
    logs_->OnReturned(kRef);
    metrics_->OnReturned(kRef);
    Connect();
    metrics_->OnAck({kRef, 0, 0});
    for (int round = 0; !logs_->Done(kRef) || !metrics_->Done(kRef); ++round) {
      Check(round < 100);
      Pump();
      Acknowledge(false);
      Acknowledge(true);
      metrics_->OnAck({kRef, 0, metrics_end_});
    }
    for (const bool is_stderr : {false, true}) {
      if (!lied_) Check(has_[is_stderr] == folder_.Read(OutputName(is_stderr)));
    }
  }

 private:
  static std::string OutputName(bool is_stderr) {
    return is_stderr ? "ranks/rank-0.err" : "ranks/rank-0.out";
  }
  static int64_t Number(const std::string& bytes) {
    uint64_t number = 0;
    for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<uint8_t>(c);
    return static_cast<int64_t>(number);
  }

  // A new worker process finds what is there.
  void Begin() {
    const auto journal = ReadJournal(folder_.ranks()).value_or(std::vector<SupervisorEvent>());
    AttemptFile file{.ref = kRef, .devices = {0}, .first_rank = 0, .ranks = 2};
    AdoptedAttempt found = FromJournal(file, journal, kBootNs);
    CheckFound(&found);
    const auto send = [this](const protocol::WorkerMessage& message) {
      std::visit([this](const auto& one) { Hear(one); }, message);
    };
    logs_ = std::make_unique<LogShipper>(send);
    logs_->Add(kRef, folder_.ranks(), {0}, /*known=*/true);
    metrics_ = std::make_unique<MetricShipper>(send);
    metrics_->Add(kRef, folder_.ranks(), folder_.dir(), {0}, /*known=*/true);
    for (const SupervisorEvent& event : journal) {
      if (const auto* output = std::get_if<OutputGrown>(&event)) {
        logs_->OnOutput(kRef, output->rank, output->is_stderr, output->bytes, output->cut_bytes,
                        found.returned);
      }
    }
  }

  void CheckFound(AdoptedAttempt* found) const {
    Check(found->ranks.size() == 2);
    for (AdoptedAttempt::Rank& rank : found->ranks) {
      if (!rank.exit) continue;
      Check(rank.exit->exit_code.has_value() != rank.exit->signal.has_value());
      ExplainExit(folder_.ranks(), rank.rank, &*rank.exit);
    }
    const Now now{MonoTime{absl::Seconds(1000)}, absl::FromUnixSeconds(1'795'219'562)};
    Agent agent("pc1", now, {}, {*found});
    Effects effects;
    agent.Tick(now, &effects);
    const auto& held = std::get<OpenLink>(effects.at(0)).hello.attempts.at(0);
    Check(held.returned == found->returned && held.started == found->started);
    for (const protocol::HeldRank& rank : held.ranks) {
      for (const absl::Duration age : {rank.ago.started, rank.ago.ended}) {
        Check(age >= absl::ZeroDuration() && age <= absl::Nanoseconds(kBootNs));
      }
    }
  }

  void Print(bool is_stderr, const std::string& text) {
    folder_.Append(OutputName(is_stderr), text);
    const auto size = static_cast<int64_t>(folder_.Read(OutputName(is_stderr)).size());
    logs_->OnOutput(kRef, 0, is_stderr, size, 0, /*ended=*/false);
  }

  void Connect() {
    logs_->OnConnected();
    metrics_->OnConnected();
    for (const bool is_stderr : {false, true}) {
      ended_[is_stderr] = false;
      Acknowledge(is_stderr);
    }
  }

  void Pump() {
    now_ = now_ + absl::Milliseconds(60);
    logs_->Pump(now_);
    metrics_->Pump(absl::FromUnixSeconds(1'795'219'562), std::nullopt);
  }

  void Acknowledge(bool is_stderr) {
    logs_->OnAck({{kRef, 0, is_stderr}, static_cast<int64_t>(has_[is_stderr].size())});
  }

  void Lie(bool is_stderr, const std::string& bytes) {
    lied_ = true;
    logs_->OnAck({{kRef, 0, is_stderr}, Number(bytes)});
  }

  void Hear(const protocol::LogData& data) {
    Check(data.offset >= 0 && !data.data.empty());
    std::string& has = has_[data.stream.is_stderr];
    if (lied_) {
      // This coordinator takes the output as it comes, so that all of it comes to an end.
      has.resize(std::max(has.size(), static_cast<size_t>(std::min<int64_t>(
                                          data.offset + static_cast<int64_t>(data.data.size()),
                                          int64_t{1} << 20))));
      return;
    }
    Check(!ended_[data.stream.is_stderr]);
    // What was lost with a connection is said again on the next. This connection loses nothing.
    Check(data.offset == static_cast<int64_t>(has.size()));
    has += data.data;
  }
  void Hear(const protocol::LogEnd& end) {
    Check(end.cut_bytes >= 0);
    ended_[end.stream.is_stderr] = true;
  }
  void Hear(const protocol::MetricData& data) {
    Check(data.end_offset >= 0);
    metrics_end_ = data.end_offset;
  }
  template <typename Other>
  void Hear(const Other&) {
    abort();
  }

  const Folder& folder_;
  std::unique_ptr<LogShipper> logs_;
  std::unique_ptr<MetricShipper> metrics_;
  MonoTime now_{absl::Seconds(1000)};
  std::map<bool, std::string> has_;  // what the coordinator has, for stdout and stderr
  std::map<bool, bool> ended_;
  int64_t metrics_end_ = 0;
  bool lied_ = false;
};

}  // namespace
}  // namespace hpc::worker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::worker;  // NOLINT: so that the calls read as elsewhere
  static const Folder folder;
  hpc::SetLogLevel(hpc::LogLevel::kError);
  Story story(&folder);
  for (size_t acts = 0; acts < kMaxActs && size >= 3; ++acts) {
    const size_t length = std::min(size - 3, data[1] + size_t{256} * data[2]);
    story.Do(data[0], std::string(reinterpret_cast<const char*>(data) + 3, length));
    data += 3 + length;
    size -= 3 + length;
  }
  story.Finish();
  return 0;
}

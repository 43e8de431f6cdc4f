// A disk in memory. It can run full, and it can stop at any operation with what a killed process or
// a power cut leaves of it. Tests only.
#ifndef HPC_COORDINATOR_STORE_TESTING_MEMORY_FILES_H_
#define HPC_COORDINATOR_STORE_TESTING_MEMORY_FILES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/store/logs/log_files.h"

namespace hpc::coordinator::testing {

// What the machine finds when it is back.
enum class Leftover {
  kAllThatWasDone,     // a process was killed
  kAllThatWasSynced,   // a power cut
  kSyncedAndRemovals,  // a power cut after removed names had gone, and before new ones were there
};

class MemoryFiles final : public LogFiles {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  // Operations that change something are counted from 0. From `crash_at` on all of them fail. From
  // `full_from` up to `full_until` those that need space fail. A write that fails has written half.
  int64_t crash_at = kNever;
  int64_t full_from = kNever;
  int64_t full_until = kNever;
  bool no_descriptors = false;  // no folder can be opened

  int64_t operations() const { return operations_; }
  bool crashed() const { return operations_ > crash_at; }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (const auto& [path, file] : files_) paths.push_back(path);
    return paths;
  }

  void Restart(Leftover left) {
    if (left != Leftover::kAllThatWasDone) {
      if (left == Leftover::kSyncedAndRemovals) {
        for (const std::string& path : removed_) synced_files_.erase(path);
      }
      folders_ = synced_folders_;
      files_ = synced_files_;
      for (auto it = files_.begin(); it != files_.end();) {
        it = folders_.contains(Parent(it->first)) ? std::next(it) : files_.erase(it);
      }
      for (auto& [path, file] : files_) file->now = file->synced;
    }
    synced_folders_ = folders_;
    synced_files_ = files_;
    for (auto& [path, file] : files_) file->synced = file->now;
    removed_.clear();
    crash_at = full_from = full_until = kNever;
  }

  void Damage(const std::string& path, size_t at) {
    char& byte = files_.at(path)->now.at(at);
    byte = static_cast<char>(byte ^ 0x55);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    if (no_descriptors) {
      return absl::ResourceExhaustedError(absl::StrCat("open ", dir, ": Too many open files"));
    }
    std::vector<std::string> names;
    for (const auto& [path, file] : files_) {
      if (Parent(path) == dir) names.push_back(path.substr(dir.size() + 1));
    }
    return names;
  }
  absl::StatusOr<int64_t> Size(const std::string& path) override {
    return static_cast<int64_t>(files_.at(path)->now.size());
  }
  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset,
                                   int64_t length) override {
    const std::string& all = files_.at(path)->now;
    const size_t from = std::min(all.size(), static_cast<size_t>(offset));
    return all.substr(from, static_cast<size_t>(length));
  }

  absl::Status MakeDir(const std::string& dir) override {
    if (folders_.contains(dir)) return absl::OkStatus();
    if (absl::Status status = Begin("mkdir", dir, true); !status.ok()) return status;
    folders_.insert(dir);
    if (folders_.size() == 1) synced_folders_.insert(dir);  // the folder that was there before us
    return absl::OkStatus();
  }
  absl::Status Write(const std::string& path, int64_t offset, absl::string_view data) override {
    const absl::Status status = Begin("write", path, true);
    if (!status.ok()) data = data.substr(0, data.size() / 2);
    std::shared_ptr<File>& file = files_[path];
    removed_.erase(path);
    if (file == nullptr) file = std::make_shared<File>();
    const size_t end = static_cast<size_t>(offset) + data.size();
    if (file->now.size() < end) file->now.resize(end);
    file->now.replace(static_cast<size_t>(offset), data.size(), std::string(data));
    return status;
  }
  absl::Status Sync(const std::string& path) override {
    const absl::Status status = Begin("fdatasync", path, false);
    if (status.ok()) files_.at(path)->synced = files_.at(path)->now;
    return status;
  }
  absl::Status Truncate(const std::string& path, int64_t size) override {
    const absl::Status status = Begin("truncate", path, false);
    if (status.ok()) files_.at(path)->now.resize(static_cast<size_t>(size));
    return status;
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    const absl::Status status = Begin("rename", from, true);
    if (!status.ok()) return status;
    files_[to] = files_.at(from);
    removed_.erase(to);
    files_.erase(from);
    return status;
  }
  absl::Status Remove(const std::string& path) override {
    const absl::Status status = Begin("remove", path, false);
    if (status.ok() && files_.erase(path) > 0) removed_.insert(path);
    return status;
  }
  absl::Status SyncFolder(const std::string& dir) override {
    const absl::Status status = Begin("fsync", dir, false);
    if (!status.ok()) return status;
    const std::string folder = absl::EndsWith(dir, "/..") ? Parent(Parent(dir)) : dir;
    for (auto it = synced_files_.begin(); it != synced_files_.end();) {
      it = Parent(it->first) == folder ? synced_files_.erase(it) : std::next(it);
    }
    for (const auto& [path, file] : files_) {
      if (Parent(path) == folder) synced_files_[path] = file;
    }
    for (const std::string& child : folders_) {
      if (Parent(child) == folder) synced_folders_.insert(child);
    }
    return status;
  }

 private:
  struct File {
    std::string now, synced;
  };

  static std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

  absl::Status Begin(const char* what, const std::string& path, bool needs_space) {
    const int64_t operation = operations_++;
    const std::string text = absl::StrCat(what, " ", path, ": ");
    if (operation >= crash_at) return absl::InternalError(absl::StrCat(text, "crashed"));
    if (needs_space && operation >= full_from && operation < full_until) {
      return absl::ResourceExhaustedError(absl::StrCat(text, "No space left on device"));
    }
    return absl::OkStatus();
  }

  int64_t operations_ = 0;
  std::map<std::string, std::shared_ptr<File>> files_, synced_files_;
  std::set<std::string> folders_, synced_folders_;
  std::set<std::string> removed_;  // and not made again since
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_STORE_TESTING_MEMORY_FILES_H_

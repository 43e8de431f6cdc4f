#include "tests/testing/disk/disk_image.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hpc::testing {
namespace {

using Kind = DiskOperation::Kind;

constexpr size_t kSector = 512;

bool Chance(std::mt19937* random) { return ((*random)() & 1) != 0; }

void Put(const std::string& data, size_t at, std::string* content) {
  if (content->size() < at + data.size()) content->resize(at + data.size());
  content->replace(at, data.size(), data);
}

// Each sector of a write may or may not have reached the disk.
void PutTorn(const DiskOperation& write, std::mt19937* random, std::string* content) {
  size_t at = static_cast<size_t>(write.offset);
  for (size_t from = 0; from < write.data.size();) {
    const size_t to = std::min(write.data.size(), from + kSector - (at + from) % kSector);
    if (Chance(random)) Put(write.data.substr(from, to - from), at + from, content);
    from = to;
  }
}

}  // namespace

const char* Name(Leftover left) {
  constexpr const char* kNames[kLeftovers] = {"all that was done", "all that was synced",
                                              "names without data", "any part"};
  return kNames[static_cast<int>(left)];
}

std::string DiskOperation::ToString() const {
  constexpr const char* kNames[] = {"write",    "truncate", "sync",  "sync all",
                                    "new name", "unlink",   "rename"};
  std::string text = kNames[static_cast<int>(kind)];
  if (name.empty()) {
    return absl::StrCat(text, " of file ", file, " at ", offset, ", ", data.size(), " bytes");
  }
  if (kind == Kind::kRename) return absl::StrCat(text, " of ", name, " to ", new_name);
  return absl::StrCat(text, " ", name, " (file ", file, ")");
}

void DiskImage::Change(const DiskOperation& operation, Names* names) {
  switch (operation.kind) {
    case Kind::kLink:
      (*names)[operation.folder][operation.name] = operation.file;
      break;
    case Kind::kUnlink:
      (*names)[operation.folder].erase(operation.name);
      break;
    default: {
      auto& from = (*names)[operation.folder];
      const auto old = from.find(operation.name);
      if (old != from.end() && old->second == operation.file) from.erase(old);
      (*names)[operation.new_folder][operation.new_name] = operation.file;
    }
  }
}

// Syncing a folder puts on disk what was done in it, but only the names.
void DiskImage::SyncNames(int folder) {
  std::vector<DiskOperation> rest;
  for (DiskOperation& one : pending_names_) {
    const bool here =
        one.folder == folder || (one.kind == Kind::kRename && one.new_folder == folder);
    if (here) {
      Change(one, &synced_names_);
    } else {
      rest.push_back(std::move(one));
    }
  }
  pending_names_ = std::move(rest);
}

void DiskImage::Apply(const DiskOperation& operation) {
  switch (operation.kind) {
    case Kind::kWrite:
    case Kind::kTruncate:
      files_[operation.file].pending.push_back(operation);
      return;
    case Kind::kSync:
      if (folders_.contains(operation.file)) return SyncNames(operation.file);
      [[fallthrough]];
    case Kind::kSyncAll:
      for (auto& [number, file] : files_) {
        if (operation.kind == Kind::kSync && number != operation.file) continue;
        file.synced = ContentOf(file, Leftover::kAllThatWasDone, nullptr);
        file.pending.clear();
      }
      if (operation.kind == Kind::kSync) return;
      for (const DiskOperation& one : pending_names_) Change(one, &synced_names_);
      pending_names_.clear();
      return;
    case Kind::kLink:
      if (operation.is_folder) {
        folders_.insert(operation.file);
      } else {
        files_[operation.file];
      }
      [[fallthrough]];
    default:
      pending_names_.push_back(operation);
  }
}

std::string DiskImage::ContentOf(const File& file, Leftover left, std::mt19937* random) {
  std::string content = file.synced;
  if (left == Leftover::kAllThatWasSynced || left == Leftover::kNamesWithoutData) return content;
  const bool all = left == Leftover::kAllThatWasDone;
  for (const DiskOperation& one : file.pending) {
    if (one.kind == Kind::kTruncate) {
      if (all || Chance(random)) content.resize(static_cast<size_t>(one.offset));
    } else if (all) {
      Put(one.data, static_cast<size_t>(one.offset), &content);
    } else {
      PutTorn(one, random, &content);
    }
  }
  return content;
}

std::map<std::string, DiskImage::Entry> DiskImage::Left(Leftover left, std::mt19937* random) const {
  Names names = synced_names_;
  for (const DiskOperation& one : pending_names_) {
    if (left == Leftover::kAllThatWasSynced) break;
    if (left != Leftover::kAnyPart || Chance(random)) Change(one, &names);
  }
  std::map<std::string, Entry> out;
  AddFolder(0, "", names, left, random, &out);
  return out;
}

void DiskImage::AddFolder(int folder, const std::string& path, const Names& names, Leftover left,
                          std::mt19937* random, std::map<std::string, Entry>* out) const {
  const auto entries = names.find(folder);
  if (entries == names.end()) return;
  for (const auto& [name, file] : entries->second) {
    const std::string place = path.empty() ? name : absl::StrCat(path, "/", name);
    if (folders_.contains(file)) {
      (*out)[place].is_folder = true;
      AddFolder(file, place, names, left, random, out);
    } else {
      (*out)[place].content = ContentOf(files_.at(file), left, random);
    }
  }
}

}  // namespace hpc::testing

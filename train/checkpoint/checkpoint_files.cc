#include "train/checkpoint/checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"

namespace hpc::train {
namespace {

constexpr size_t kReadAtOnce = 1 << 20;
constexpr size_t kMaxManifest = 256 << 20;

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw CheckpointError(std::string(ErrnoStatus(errno, what).message()));
}

void ThrowIfBad(const absl::Status& status) {
  if (!status.ok()) throw CheckpointError(std::string(status.message()));
}

// Returns the steps of all folders whose names are those of checkpoints.
std::vector<int64_t> StepsIn(const std::string& folder) {
  std::vector<int64_t> steps;
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return steps;
  while (const dirent* entry = readdir(entries)) {
    absl::string_view name = entry->d_name;
    int64_t step = 0;
    if (absl::ConsumePrefix(&name, "step-") && absl::SimpleAtoi(name, &step) && step >= 0 &&
        CheckpointPath(folder, step) == absl::StrCat(folder, "/", entry->d_name)) {
      steps.push_back(step);
    }
  }
  closedir(entries);
  std::sort(steps.begin(), steps.end());
  return steps;
}

bool HasManifest(const std::string& path) {
  return access(absl::StrCat(path, "/", kManifestName).c_str(), F_OK) == 0;
}

UniqueFd OpenToRead(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.ok()) ThrowErrno("open " + path);
  return file;
}

std::string HashOf(const UniqueFd& file, const std::string& path) {
  Sha256 hash;
  std::string buffer(kReadAtOnce, '\0');
  for (;;) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowErrno("read " + path);
    if (got == 0) return hash.Hex();
    hash.Add(absl::string_view(buffer).substr(0, static_cast<size_t>(got)));
  }
}

}  // namespace

std::string CheckpointPath(const std::string& folder, int64_t step) {
  return absl::StrFormat("%s/step-%012d", folder, step);
}

std::vector<int64_t> CheckpointsIn(const std::string& folder) {
  std::vector<int64_t> steps;
  for (int64_t step : StepsIn(folder)) {
    if (HasManifest(CheckpointPath(folder, step))) steps.push_back(step);
  }
  return steps;
}

CheckpointManifest ReadManifest(const std::string& path) {
  const std::string file = absl::StrCat(path, "/", kManifestName);
  const absl::StatusOr<std::string> text = ReadFile(file, kMaxManifest);
  ThrowIfBad(text.status());
  try {
    CheckpointManifest manifest = ParseManifest(*text);
    if (!absl::EndsWith(path, CheckpointPath("", manifest.step))) {
      throw CheckpointError(absl::StrCat("it says step ", manifest.step, ": it is damaged"));
    }
    return manifest;
  } catch (const NewerCheckpointError& error) {
    throw NewerCheckpointError(absl::StrCat(file, ": ", error.what()));
  } catch (const CheckpointError& error) {
    throw CheckpointError(absl::StrCat(file, ": ", error.what()));
  }
}

void CheckFiles(const std::string& path, const CheckpointManifest& manifest) {
  for (const CheckpointFile& one : manifest.files) {
    const std::string file = absl::StrCat(path, "/", one.name);
    const UniqueFd opened = OpenToRead(file);
    struct stat status {};
    if (fstat(opened.get(), &status) != 0) ThrowErrno("stat " + file);
    if (!S_ISREG(status.st_mode)) {
      throw CheckpointError(absl::StrCat("the checkpoint is torn: ", file, " is no file"));
    }
    if (static_cast<uint64_t>(status.st_size) != one.bytes) {
      throw CheckpointError(absl::StrCat("the checkpoint is torn: ", file, " has ", status.st_size,
                                         " bytes, and ", one.bytes, " were written"));
    }
    const std::string hash = HashOf(opened, file);
    if (hash != one.sha256) {
      throw CheckpointError(absl::StrCat("the checkpoint is torn: ", file, " has the SHA-256 ",
                                         hash.substr(0, 12), "..., and ", one.sha256.substr(0, 12),
                                         "... was written"));
    }
  }
}

void CommitManifest(const std::string& path, const CheckpointManifest& manifest) {
  ThrowIfBad(Sync(path));  // first the names of all files, then the manifest that vouches for them
  ThrowIfBad(
      WriteFileAtomically(absl::StrCat(path, "/", kManifestName), EncodeManifest(manifest), 0644));
}

void RemoveCheckpoint(const std::string& path) {
  const std::string manifest = absl::StrCat(path, "/", kManifestName);
  if (unlink(manifest.c_str()) == 0) {
    ThrowIfBad(Sync(path));
  } else if (errno != ENOENT && errno != ENOTDIR) {
    ThrowErrno("remove " + manifest);
  }
  ThrowIfBad(RemoveTree(path));
}

void RemoveTornCheckpoints(const std::string& folder) {
  for (int64_t step : StepsIn(folder)) {
    const std::string path = CheckpointPath(folder, step);
    if (!HasManifest(path)) ThrowIfBad(RemoveTree(path));
  }
}

std::set<int64_t> StepsToRemove(const std::vector<KeptCheckpoint>& all, const KeepPolicy& policy) {
  std::vector<KeptCheckpoint> sorted = all;
  std::sort(sorted.begin(), sorted.end(),
            [](const KeptCheckpoint& a, const KeptCheckpoint& b) { return a.step > b.step; });
  std::set<int64_t> remove;
  for (const KeptCheckpoint& one : sorted) remove.insert(one.step);
  for (size_t i = 0; i < sorted.size() && i < static_cast<size_t>(std::max(policy.latest, 1));
       ++i) {
    remove.erase(sorted[i].step);
  }
  sorted.erase(std::remove_if(sorted.begin(), sorted.end(),
                              [](const KeptCheckpoint& one) { return !one.metric; }),
               sorted.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const KeptCheckpoint& a, const KeptCheckpoint& b) {
                     return policy.lower_is_better ? *a.metric < *b.metric : *a.metric > *b.metric;
                   });
  for (size_t i = 0; i < sorted.size() && i < static_cast<size_t>(std::max(policy.best, 0)); ++i) {
    remove.erase(sorted[i].step);
  }
  return remove;
}

CheckpointFileWriter::CheckpointFileWriter(const std::string& folder, const std::string& name)
    : path_(absl::StrCat(folder, "/", name)),
      temporary_(path_ + ".tmp"),
      written_({.name = name}),
      file_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (!file_.ok()) ThrowErrno("open " + temporary_);
}

CheckpointFileWriter::~CheckpointFileWriter() {
  if (file_.ok()) unlink(temporary_.c_str());
}

void CheckpointFileWriter::Write(absl::string_view bytes) {
  hash_.Add(bytes);
  written_.bytes += bytes.size();
  while (!bytes.empty()) {
    const ssize_t wrote = write(file_.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) ThrowErrno("write " + temporary_);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

CheckpointFile CheckpointFileWriter::Commit() {
  if (fsync(file_.get()) != 0) ThrowErrno("fsync " + temporary_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    ThrowErrno(absl::StrCat("rename ", temporary_, " to ", path_));
  }
  file_.Reset();
  written_.sha256 = hash_.Hex();
  return written_;
}

}  // namespace hpc::train

#include "train/checkpoint/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "common/text.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

constexpr size_t kMostText = 4096;

// The content of the file, which says who holds it. Its lines are the start, the run, its restarts,
// and words for a person.
struct Holder {
  FolderUser user;
  std::string words = "a process that does not say who it is";
};

std::string Encode(const FolderUser& user) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const std::string of_run = user.run.empty() ? "" : absl::StrCat(" of run ", OneLine(user.run));
  return absl::StrCat(user.start, "\n", OneLine(user.run), "\n", user.restarts, "\nprocess ",
                      getpid(), " on ", OneLine(host), of_run, "\n");
}

Holder Decode(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  Holder holder;
  if (lines.size() != 5 || !absl::SimpleAtoi(lines[2], &holder.user.restarts)) return holder;
  holder.user.start = lines[0];
  holder.user.run = lines[1];
  holder.words = OneLine(ToValidUtf8(lines[3]));
  return holder;
}

bool MayBoth(const FolderUser& mine, const FolderUser& other) {
  if (mine.start == other.start) return true;
  return !mine.run.empty() && OneLine(mine.run) == other.run && other.restarts < mine.restarts;
}

std::string CannotLock(const std::string& path, const std::string& what) {
  return absl::StrCat(path, " cannot be locked (", what, ": ", strerror(errno),
                      "): if another training writes its checkpoints there, nobody notices");
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const FolderUser& user) {
  const std::string path = folder + "/.lock";
  file_ = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file_.ok()) {
    warning_ = CannotLock(path, "open");
  } else if (flock(file_.get(), LOCK_EX | LOCK_NB) == 0) {
    const std::string text = Encode(user);
    // Other trainings are refused even without the text, so a failure here does not end training.
    if (ftruncate(file_.get(), 0) != 0 || pwrite(file_.get(), text.data(), text.size(), 0) < 0) {
      warning_ = absl::StrCat(path, " does not say who holds it: ", strerror(errno));
    }
  } else if (errno != EWOULDBLOCK) {
    warning_ = CannotLock(path, "flock");
  } else {
    const auto text = ReadOpenFile(file_.get(), path, kMostText);
    const Holder other = text.ok() ? Decode(*text) : Holder();
    if (!MayBoth(user, other.user)) {
      throw CheckpointError(absl::StrCat(
          "another training writes its checkpoints into ", folder, ": ", other.words, " holds ",
          path, "; end that one first, or say another folder (--checkpoint-dir)"));
    }
  }
}

}  // namespace hpc::train

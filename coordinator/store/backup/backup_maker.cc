#include "coordinator/store/backup/backup_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <set>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/pki/keyring.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "common/version.h"
#include "coordinator/store/backup/backup_format.h"
#include "coordinator/store/logs/log_files.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kBusyTimeout = absl::Seconds(2);
// A backup leaves this many bytes of the disk free, since the coordinator stops when it cannot
// write.
constexpr int64_t kLeftFree = 64 << 20;
constexpr size_t kMaxFile = size_t{1} << 30;  // SQLite's own limit for a value
constexpr int kTries = 10;
constexpr char kLogs[] = "logs";
constexpr char kSecrets[] = "secrets";

absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder) {
  HPC_ASSIGN_OR_RETURN(std::vector<std::string> names, PosixLogFiles()->List(folder));
  std::erase_if(names, [](const std::string& name) {
    return name[0] == '.' || absl::EndsWith(name, ".tmp");
  });
  return names;
}

absl::StatusOr<int64_t> BytesBelow(const std::string& logs) {
  int64_t bytes = 0;
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> runs, FilesIn(logs));
  for (const std::string& run : runs) {
    HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         FilesIn(absl::StrCat(logs, "/", run)));
    for (const std::string& name : names) {
      bytes += PosixLogFiles()->Size(absl::StrCat(logs, "/", run, "/", name)).value_or(0);
    }
  }
  return bytes;
}

// Makes an empty file with the right mode. SQLite then writes into that file, and keeps its mode.
absl::Status MakeEmpty(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  return fd.ok() ? absl::OkStatus() : ErrnoStatus(errno, absl::StrCat("open ", path));
}

}  // namespace

std::string UnfinishedBackup(const std::string& state_dir) {
  return absl::StrCat(state_dir, "/backup.tmp");
}

absl::StatusOr<std::unique_ptr<BackupMaker>> BackupMaker::Begin(const std::string& state_dir,
                                                                bool with_logs, absl::Time now) {
  std::unique_ptr<BackupMaker> maker(new BackupMaker(state_dir, with_logs, now));
  const std::string folder(pki::kKeyringFolder);
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(maker->InState(folder)));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    HPC_ASSIGN_OR_RETURN(std::string content, ReadFile(maker->InState(path)));
    maker->keys_.emplace_back(path, std::move(content));
  }
  return maker;
}

void BackupMaker::Cancel() {
  cancelled_ = true;
  absl::MutexLock lock(&mutex_);
  if (working_ != nullptr) working_->Interrupt();
}

absl::Status BackupMaker::Cancelled() const {
  return cancelled_ ? absl::AbortedError("the backup was cancelled") : absl::OkStatus();
}

void BackupMaker::Work(Connection* db) {
  absl::MutexLock lock(&mutex_);
  working_ = db;
}

absl::Status BackupMaker::Make(const std::function<void(const std::string&)>& say) {
  const absl::Status status = MakeFile(say);
  if (!status.ok()) unlink(UnfinishedBackup(state_dir_).c_str());
  return status;
}

// The database is copied first. Output is written before the database tells of it, so the files
// contain all output that this copy knows of. What they have beyond it is treated as after a crash.
absl::Status BackupMaker::MakeFile(const std::function<void(const std::string&)>& say) {
  say("copies the database");
  HPC_RETURN_IF_ERROR(CopyDatabase());
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> copy,
                       Connection::Open(UnfinishedBackup(state_dir_), kBusyTimeout));
  Work(copy.get());
  const absl::Cleanup done = [this] { Work(nullptr); };
  // A crash makes the whole file void anyway, so nothing needs to be durable step by step.
  HPC_RETURN_IF_ERROR(copy->Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
  HPC_RETURN_IF_ERROR(copy->Execute(absl::StrCat("PRAGMA application_id = ", kBackupId)));
  return copy->InTransaction([&] { return AddRest(copy.get(), say); });
}

absl::Status BackupMaker::CheckSpace(Connection* db) {
  HPC_ASSIGN_OR_RETURN(const int64_t pages, db->ReadNumber("PRAGMA page_count"));
  HPC_ASSIGN_OR_RETURN(const int64_t unused, db->ReadNumber("PRAGMA freelist_count"));
  HPC_ASSIGN_OR_RETURN(const int64_t page_size, db->ReadNumber("PRAGMA page_size"));
  if (with_logs_) {
    HPC_ASSIGN_OR_RETURN(log_bytes_, BytesBelow(InState(kLogs)));
  }
  // The 64th part is added because a large value wastes the rest of its last page.
  const int64_t needed = (pages - unused) * page_size + log_bytes_ + log_bytes_ / 64;
  struct statvfs disk;
  if (statvfs(state_dir_.c_str(), &disk) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statvfs ", state_dir_));
  }
  const auto free = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  if (needed + kLeftFree <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "a backup takes ", HumanBytes(static_cast<uint64_t>(needed)), " in ", state_dir_,
      " while it is made, ", HumanBytes(static_cast<uint64_t>(free)), " are free there, and ",
      HumanBytes(kLeftFree), " are left to the coordinator: free space on that file system",
      with_logs_ ? ", or leave the output of ranks out with --no-logs" : ""));
}

absl::Status BackupMaker::CopyDatabase() {
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> live,
                       Connection::Open(InState("hpc.db"), kBusyTimeout));
  Work(live.get());
  const absl::Cleanup done = [this] { Work(nullptr); };
  HPC_RETURN_IF_ERROR(Cancelled());
  HPC_RETURN_IF_ERROR(CheckSpace(live.get()));
  HPC_RETURN_IF_ERROR(MakeEmpty(UnfinishedBackup(state_dir_)));
  // VACUUM INTO reads one state of the database in one go, whatever is committed meanwhile.
  // SQLite's stepwise backup would begin anew with each commit.
  return live->Sql("VACUUM INTO ?").Text(UnfinishedBackup(state_dir_)).Run();
}

absl::Status BackupMaker::AddRest(Connection* db,
                                  const std::function<void(const std::string&)>& say) {
  HPC_RETURN_IF_ERROR(db->Execute(kBackupTables));
  HPC_ASSIGN_OR_RETURN(const std::string hash, ContentHash(db));
  for (const auto& [path, content] : keys_) HPC_RETURN_IF_ERROR(AddFile(db, path, content));
  HPC_RETURN_IF_ERROR(AddSecrets(db));
  if (with_logs_) HPC_RETURN_IF_ERROR(AddLogs(db, say));
  HPC_RETURN_IF_ERROR(Cancelled());
  return db->Sql("INSERT INTO backup VALUES (?, ?, ?, ?, ?)")
      .Time(now_)
      .Text(Version())
      .Int(with_logs_ ? 1 : 0)
      .Int(files_)
      .Text(hash)
      .Run();
}

absl::Status BackupMaker::AddFile(Connection* db, const std::string& path,
                                  const std::string& content) {
  HPC_RETURN_IF_ERROR(Cancelled());
  ++files_;
  return db->Sql("INSERT INTO backup_files VALUES (?, ?, ?)")
      .Text(path)
      .Text(ContentHash(content))
      .Blob(content)
      .Run();
}

// The files of runs that end meanwhile disappear while they are read.
absl::Status BackupMaker::AddSecrets(Connection* db) {
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(InState(kSecrets)));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(kSecrets, "/", name);
    const absl::StatusOr<std::string> content = ReadFile(InState(path));
    if (absl::IsNotFound(content.status())) continue;
    HPC_RETURN_IF_ERROR(content.status());
    HPC_RETURN_IF_ERROR(AddFile(db, path, *content));
  }
  return absl::OkStatus();
}

absl::Status BackupMaker::AddLogs(Connection* db,
                                  const std::function<void(const std::string&)>& say) {
  HPC_ASSIGN_OR_RETURN(const RunId last_run, db->ReadNumber("SELECT max(id) FROM runs"));
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(InState(kLogs)));
  for (const std::string& name : names) {
    RunId run = 0;
    // The output of a run newer than the copied database is of no use, and its number would look
    // like one that was given out.
    if (!absl::SimpleAtoi(name, &run) || run > last_run) continue;
    HPC_RETURN_IF_ERROR(AddRun(db, absl::StrCat(kLogs, "/", name)));
    say(absl::StrCat("adds the output of ranks, ",
                     HumanBytes(static_cast<uint64_t>(log_bytes_added_)), " of ",
                     HumanBytes(static_cast<uint64_t>(log_bytes_))));
  }
  return absl::OkStatus();
}

// A segment that is sealed meanwhile has another name, so it is looked for again.
absl::Status BackupMaker::AddRun(Connection* db, const std::string& folder) {
  std::set<std::string> added;
  bool again = true;
  for (int tries = 1; again; ++tries) {
    again = false;
    HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(InState(folder)));
    for (const std::string& name : names) {
      if (added.contains(name)) continue;
      const std::string path = absl::StrCat(folder, "/", name);
      const absl::StatusOr<std::string> content = ReadFile(InState(path), kMaxFile);
      if (absl::IsNotFound(content.status()) && tries < kTries) {
        again = true;
        continue;
      }
      HPC_RETURN_IF_ERROR(content.status());
      HPC_RETURN_IF_ERROR(AddFile(db, path, *content));
      log_bytes_added_ += static_cast<int64_t>(content->size());
      added.insert(name);
    }
  }
  return absl::OkStatus();
}

}  // namespace hpc::coordinator

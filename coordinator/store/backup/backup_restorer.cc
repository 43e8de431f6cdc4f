#include "coordinator/store/backup/backup_restorer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/files/state_dir.h"
#include "common/pki/keyring.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/store/backup/backup_format.h"
#include "coordinator/store/logs/log_files.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_store.h"

namespace hpc::coordinator {
namespace {

constexpr size_t kNamesTold = 4;
constexpr absl::Duration kNoWait = absl::ZeroDuration();
constexpr char kOtherCopy[] = "nothing was restored; use another backup, or another copy of it";

absl::Status Damaged(const std::string& file, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(file, ": damaged (", what, "): ", kOtherCopy));
}

// A report of damage ends with advice that is right only for a coordinator's database.
absl::string_view WithoutAdvice(absl::string_view words) {
  absl::ConsumeSuffix(&words, kDamagedAdvice);
  absl::ConsumeSuffix(&words, ": ");
  return words;
}

absl::Status OfFile(const std::string& file, const absl::Status& status) {
  const bool of_sqlite =
      absl::IsDataLoss(status) && absl::StrContains(status.message(), kDamagedAdvice);
  if (of_sqlite) return Damaged(file, "SQLite cannot read it");
  // SQLite reports this for a flaw that it has no better name for, such as a missing table.
  if (absl::IsInternal(status)) return Damaged(file, status.message());
  return status;
}

// ---- the place

absl::Status CheckEmpty(const std::string& dir) {
  HPC_ASSIGN_OR_RETURN(std::vector<std::string> names, PosixLogFiles()->List(dir));
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  if (names.empty()) return absl::OkStatus();
  std::sort(names.begin(), names.end());
  if (names.size() > kNamesTold) {
    const size_t more = names.size() - kNamesTold;
    names.resize(kNamesTold);
    names.push_back(absl::StrCat(more, " more"));
  }
  return absl::AlreadyExistsError(
      absl::StrCat(dir, " is not empty (", JoinWords(names),
                   "): a backup is restored into a new or an empty folder only: move what is there "
                   "away, or name another with --state-dir"));
}

absl::Status NoSpace(const std::string& file, const std::string& dir, const absl::Status& status) {
  const int64_t bytes = PosixLogFiles()->Size(file).value_or(0);
  return absl::ResourceExhaustedError(absl::StrCat(
      "no space to restore into ", dir, " (", status.message(), "): it takes twice the ",
      HumanBytes(static_cast<uint64_t>(bytes)), " of ", file, "; nothing was restored"));
}

// ---- the backup

absl::Status CheckIsBackup(Connection* db, const std::string& file) {
  const absl::StatusOr<int64_t> id = db->ReadNumber("PRAGMA application_id");
  if (absl::IsDataLoss(id.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": no backup that 'hpcctl backup' made, or it is damaged or cut short"));
  }
  HPC_RETURN_IF_ERROR(id.status());
  if (*id == kBackupId) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": no backup that 'hpcctl backup' made",
      *id == kApplicationId ? ", but a coordinator's database alone, without keys and output"
                            : ""));
}

absl::Status CheckKnownVersion(Connection* db, const std::string& file) {
  HPC_ASSIGN_OR_RETURN(const int64_t version, db->ReadNumber("PRAGMA user_version"));
  const auto known = static_cast<int64_t>(SchemaMigrations().size());
  if (version < 1) return Damaged(file, absl::StrCat("its schema has version ", version));
  if (version <= known) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file, ": its schema has version ", version, ", this hpc-coordinator knows versions up to ",
      known, ": restore with a newer hpc-coordinator; nothing was changed"));
}

struct Label {
  absl::Time made_at;
  bool with_logs = false;
  int64_t files = 0;
  std::string content_hash;
};

absl::StatusOr<Label> ReadLabel(Connection* db, const std::string& file) {
  Label label;
  HPC_ASSIGN_OR_RETURN(
      const bool found,
      db->Sql("SELECT made_at, with_logs, files, content_hash FROM backup").QueryOne([&](Row& row) {
        label.made_at = row.Time(absl::InfinitePast());
        label.with_logs = row.Bool();
        label.files = row.Int();
        label.content_hash = row.Text();
      }));
  if (!found) return Damaged(file, "its end is missing");
  return label;
}

// By name.
absl::StatusOr<std::map<std::string, std::string>> Definitions(Connection* db) {
  std::map<std::string, std::string> all;
  HPC_RETURN_IF_ERROR(
      db->Sql("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").Query([&](Row& row) {
        const std::string name = row.Text();
        all[name] = row.Text();
      }));
  return all;
}

// A table or index that is missing or defined differently might not be noticed before the
// coordinator is at work. What somebody has added does no harm. `scratch`: the name of a file.
absl::Status CheckDefinitions(Connection* db, const std::string& file, const std::string& scratch) {
  HPC_ASSIGN_OR_RETURN(const int64_t version, db->ReadNumber("PRAGMA user_version"));
  const std::vector<std::string>& all = SchemaMigrations();
  {
    HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> model,
                         Connection::Open(scratch, kNoWait));
    HPC_RETURN_IF_ERROR(model->Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
    HPC_RETURN_IF_ERROR(Migrate(model.get(), {all.begin(), all.begin() + version}));
    HPC_ASSIGN_OR_RETURN(const auto wanted, Definitions(model.get()));
    HPC_ASSIGN_OR_RETURN(const auto found, Definitions(db));
    for (const auto& [name, sql] : wanted) {
      const auto it = found.find(name);
      if (it != found.end() && it->second == sql) continue;
      return Damaged(file, absl::StrCat(name, " is not as version ", version, " has it"));
    }
  }
  if (unlink(scratch.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("remove ", scratch));
}

absl::Status CheckWhole(Connection* db, const std::string& file, const Label& label) {
  std::string finding;
  HPC_RETURN_IF_ERROR(
      db->Sql("PRAGMA integrity_check(1)").Query([&](Row& row) { finding = row.Text(); }));
  if (finding != "ok") return Damaged(file, finding);
  HPC_ASSIGN_OR_RETURN(const std::string hash, ContentHash(db));
  if (hash != label.content_hash) return Damaged(file, "its tables are not what was written");
  HPC_ASSIGN_OR_RETURN(const int64_t files, db->ReadNumber("SELECT count(*) FROM backup_files"));
  if (files != label.files) return Damaged(file, "files are missing in it");
  return absl::OkStatus();
}

// ---- building the state

// Only the paths that a backup holds may be written, and nothing else.
bool IsSafe(absl::string_view path) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  const bool known = parts[0] == "logs" || parts[0] == "secrets" || parts[0] == pki::kKeyringFolder;
  return known && parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [](const auto& p) {
           return !p.empty() && p[0] != '.' && p.find('\0') == std::string::npos;
         });
}

absl::Status Unpack(Connection* db, const std::string& file, const std::string& dir) {
  absl::Status status;
  std::set<std::string> folders, paths;
  const absl::Status read =
      db->Sql("SELECT path, sha256, content FROM backup_files").Query([&](Row& row) {
        if (!status.ok()) return;
        const std::string path = row.Text();
        const std::string hash = row.Text();
        const std::string content = row.Blob();
        if (!IsSafe(path) || !paths.insert(path).second || ContentHash(content) != hash) {
          status = Damaged(file, absl::StrCat(ToValidUtf8(path), " is not what was written"));
          return;
        }
        const std::string folder = absl::StrCat(dir, "/", path.substr(0, path.rfind('/')));
        if (folders.insert(folder).second) status = PosixLogFiles()->MakeDir(folder);
        if (status.ok()) {
          status = PosixLogFiles()->Write(absl::StrCat(dir, "/", path), 0, content);
        }
      });
  HPC_RETURN_IF_ERROR(status);
  return read;
}

absl::Status CopyFile(const std::string& from, const std::string& to) {
  const UniqueFd in(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.ok()) return ErrnoStatus(errno, absl::StrCat("open ", from));
  const UniqueFd out(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.ok()) return ErrnoStatus(errno, absl::StrCat("open ", to));
  std::vector<char> buffer(1 << 20);
  int64_t offset = 0;
  while (true) {
    const ssize_t n = read(in.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", from));
    if (n == 0) return absl::OkStatus();
    HPC_RETURN_IF_ERROR(PosixLogFiles()->Write(
        to, offset, absl::string_view(buffer.data(), static_cast<size_t>(n))));
    offset += n;
  }
}

// Numbers that this state does not know about must not be given out a second time; see
// docs/STORAGE.md.
absl::Status NoteRestore(Connection* db, const std::string& file, const Label& label,
                         absl::Time now, RestoredBackup* out) {
  constexpr char kNewest[] =
      "SELECT max(coalesce((SELECT max(id) FROM runs), 0), "
      "coalesce((SELECT max(taken_run) FROM restores), 0))";
  constexpr char kNewestEvent[] =
      "SELECT max(coalesce((SELECT max(id) FROM events), 0), "
      "coalesce((SELECT max(taken_event) FROM restores), 0))";
  constexpr char kNewestAttempt[] =
      "SELECT max(coalesce((SELECT max(number) FROM attempts), 0), "
      "coalesce((SELECT max(taken_attempt) FROM restores), 0))";
  HPC_ASSIGN_OR_RETURN(const RunId known_run, db->ReadNumber(kNewest));
  HPC_ASSIGN_OR_RETURN(const int64_t newest_event, db->ReadNumber(kNewestEvent));
  HPC_ASSIGN_OR_RETURN(const int64_t attempt, db->ReadNumber(kNewestAttempt));
  const auto most = [](auto number) { return std::numeric_limits<decltype(number)>::max() / 2; };
  if (known_run > most(RunId()) || newest_event > most(EventId()) || attempt > most(int32_t())) {
    return Damaged(file, "a number in it is greater than any that was given out");
  }
  // A round number, so that nobody takes the jump for a mistake.
  const RunId taken_run = (known_run / kRunsSkipped + 2) * kRunsSkipped;
  out->next_run = taken_run + 1;
  HPC_RETURN_IF_ERROR(db->Sql("INSERT INTO restores VALUES (?, ?, ?, ?, ?, ?, 0)")
                          .Time(now)
                          .Time(label.made_at)
                          .Int(known_run)
                          .Int(taken_run)
                          .Int(attempt + kAttemptsSkipped)
                          .Int(newest_event + kEventsSkipped)
                          .Run());
  return db->Sql("INSERT INTO events (id, at, severity, kind, text) VALUES (?, ?, 'warning', ?, ?)")
      .Int(newest_event + kEventsSkipped)
      .Time(now)
      .Text(event::kClusterRestored)
      .Text(absl::StrCat("restored from a backup of ", HumanTime(label.made_at),
                         ": what happened after it is not known here. New runs begin at number ",
                         out->next_run))
      .Run();
}

absl::Status MakeDatabase(const std::string& file, const std::string& path, const Label& label,
                          absl::Time now, RestoredBackup* out) {
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, Connection::Open(path, kNoWait));
  HPC_RETURN_IF_ERROR(db->Execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"));
  HPC_RETURN_IF_ERROR(db->Execute(kDropBackupTables));
  HPC_RETURN_IF_ERROR(db->Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId)));
  HPC_RETURN_IF_ERROR(Migrate(db.get(), SchemaMigrations()));
  HPC_RETURN_IF_ERROR(NoteRestore(db.get(), file, label, now, out));
  HPC_RETURN_IF_ERROR(db->Sql("UPDATE tokens SET revoked = 1").Run());
  HPC_ASSIGN_OR_RETURN(out->runs, db->ReadNumber("SELECT count(*) FROM runs"));
  HPC_ASSIGN_OR_RETURN(out->live_runs,
                       db->ReadNumber("SELECT count(*) FROM runs WHERE state IN "
                                      "('queued', 'starting', 'running', 'stopping')"));
  // Frees the space of what has been unpacked.
  return db->Execute("VACUUM");
}

// Loads the state as the next start does.
absl::Status CheckLoads(const std::string& file, const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenSqliteStore(path));
  absl::Status status = store->Load().status();
  if (status.ok()) status = store->LoadTrust().status();
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  return Damaged(
      file, absl::StrCat("no coordinator could start with it: ", WithoutAdvice(status.message())));
}

// ---- putting it in place

absl::Status SyncFileSystem(const std::string& dir) {
  const UniqueFd fd(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", dir));
  if (syncfs(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", dir));
  return absl::OkStatus();
}

// The folder that is replaced may belong to another account, under which the coordinator reads it.
absl::Status GiveToOwnerOf(const std::string& existing, const std::string& dir) {
  struct stat owner;
  if (stat(existing.c_str(), &owner) != 0 || owner.st_uid == geteuid()) return absl::OkStatus();
  std::vector<std::string> paths = {dir};
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir, error)) {
    paths.push_back(entry.path().string());
  }
  for (const std::string& path : paths) {
    if (lchown(path.c_str(), owner.st_uid, owner.st_gid) != 0) {
      return ErrnoStatus(errno, absl::StrCat("chown ", path));
    }
  }
  return absl::OkStatus();
}

absl::Status PutInPlace(const std::string& dir, const std::string& state_dir) {
  HPC_RETURN_IF_ERROR(GiveToOwnerOf(state_dir, dir));
  HPC_RETURN_IF_ERROR(SyncFileSystem(dir));
  if (rename(dir.c_str(), state_dir.c_str()) != 0) {
    const int error = errno;
    if (error != EBUSY && error != EXDEV) {
      return ErrnoStatus(error, absl::StrCat("rename ", dir, " to ", state_dir));
    }
    return absl::FailedPreconditionError(
        absl::StrCat(state_dir, " is where a file system is mounted: restore into a folder in it"));
  }
  return PosixLogFiles()->SyncFolder(std::filesystem::path(state_dir).parent_path().string());
}

absl::StatusOr<RestoredBackup> Build(Connection* db, const std::string& file,
                                     const std::string& dir, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const Label label, ReadLabel(db, file));
  HPC_RETURN_IF_ERROR(CheckWhole(db, file, label));
  // Makes the folder and marks it as a coordinator's.
  HPC_RETURN_IF_ERROR(StateDir::Open(dir, "coordinator").status());
  HPC_RETURN_IF_ERROR(CheckDefinitions(db, file, absl::StrCat(dir, "/model.db")));
  HPC_RETURN_IF_ERROR(Unpack(db, file, dir));
  RestoredBackup out;
  out.made_at = label.made_at;
  out.with_logs = label.with_logs;
  out.has_authority =
      access(absl::StrCat(dir, "/", pki::kKeyringFolder, "/authority.key").c_str(), F_OK) == 0;
  const std::string database = absl::StrCat(dir, "/hpc.db");
  HPC_RETURN_IF_ERROR(CopyFile(file, database));
  const absl::Status made = MakeDatabase(file, database, label, now, &out);
  // The file was made just now with the right mode, so its own first bytes must say so.
  if (absl::IsPermissionDenied(made)) return Damaged(file, "SQLite may only read it");
  HPC_RETURN_IF_ERROR(made);
  HPC_RETURN_IF_ERROR(CheckLoads(file, database));
  return out;
}

}  // namespace

absl::StatusOr<RestoredBackup> RestoreBackup(const std::string& file, const std::string& place,
                                             absl::Time now) {
  std::error_code unknown;
  std::string state_dir = std::filesystem::weakly_canonical(place, unknown).string();
  if (unknown) state_dir = place;
  while (state_dir.size() > 1 && state_dir.back() == '/') state_dir.pop_back();
  HPC_RETURN_IF_ERROR(CheckEmpty(state_dir));
  if (access(file.c_str(), R_OK) != 0) return ErrnoStatus(errno, absl::StrCat("open ", file));
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> db, Connection::OpenToRead(file));
  HPC_RETURN_IF_ERROR(CheckIsBackup(db.get(), file));
  HPC_RETURN_IF_ERROR(CheckKnownVersion(db.get(), file));
  const std::string dir = absl::StrCat(state_dir, ".restoring");
  HPC_RETURN_IF_ERROR(RemoveTree(dir));  // left by a restore that was cut short
  const absl::Cleanup remove = [&dir] { RemoveTree(dir).IgnoreError(); };
  const absl::StatusOr<RestoredBackup> built = Build(db.get(), file, dir, now);
  if (absl::IsResourceExhausted(built.status())) return NoSpace(file, state_dir, built.status());
  HPC_RETURN_IF_ERROR(OfFile(file, built.status()));
  HPC_RETURN_IF_ERROR(PutInPlace(dir, state_dir));
  return built;
}

}  // namespace hpc::coordinator

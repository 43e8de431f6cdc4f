#include "coordinator/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

absl::Status MakeStatus(int extended_rc, int os_error, absl::string_view path,
                        absl::string_view detail) {
  const bool no_space = os_error == ENOSPC || os_error == EDQUOT;
  switch (no_space && (extended_rc & 0xff) == SQLITE_IOERR ? SQLITE_FULL : extended_rc & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": no space left (", detail, "): free space on its file system"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(absl::StrCat(path, ": locked by another process (", detail,
                                                 "): end the one that writes to it"));
    case SQLITE_INTERRUPT:
      return absl::AbortedError(absl::StrCat(path, ": interrupted"));
    case SQLITE_CORRUPT:
      return absl::DataLossError(absl::StrCat(path, ": damaged (", detail, "): ", kDamagedAdvice));
    case SQLITE_NOTADB:
      return absl::DataLossError(
          absl::StrCat(path, ": no SQLite database, or damaged (", detail, "): ", kDamagedAdvice));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(absl::StrCat(
          path, ": cannot be written (", detail, "): check owner, mode and mount of its folder"));
    case SQLITE_TOOBIG:
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", detail));
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(absl::StrCat(path, ": ", detail));
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (os_error != 0) return ErrnoStatus(os_error, absl::StrCat(path, ": ", detail));
      return absl::InternalError(
          absl::StrCat(path, ": ", detail, ": check its folder, its disk and the kernel's log"));
    default:
      return absl::InternalError(absl::StrCat(path, ": ", detail, " (code ", extended_rc, ")"));
  }
}

// SQLite says "no such file" about a file that it could not create. The folder tells the reason.
absl::Status CheckFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (folder.empty() || access(folder.c_str(), W_OK) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat(path, ": cannot be made there"));
}

// Whoever may read the file may also lock it, and thereby stop us. SQLite gives the files beside it
// the mode that it has.
absl::Status KeepPrivate(const std::string& path) {
  const UniqueFd made(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // The mode is changed by path. Closing a descriptor of an existing file would release all locks
  // that this process has on it.
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    struct stat info;
    if (stat(file.c_str(), &info) != 0 || (info.st_mode & 077) == 0) continue;
    if (info.st_uid != geteuid()) continue;
    if (chmod(file.c_str(), info.st_mode & 0700) != 0) {
      return ErrnoStatus(errno, absl::StrCat("chmod ", file));
    }
  }
  return absl::OkStatus();
}

// Opening a FIFO would wait for its other end.
absl::Status CheckPlainFiles(const std::string& path) {
  for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    struct stat info;
    if (stat(file.c_str(), &info) != 0 || S_ISREG(info.st_mode)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(file, ": not a plain file, as a database needs: move it away"));
  }
  return absl::OkStatus();
}

absl::Status CheckRoom(const std::string& path, int64_t bytes) {
  struct statvfs disk;
  if (statvfs(path.c_str(), &disk) != 0) return ErrnoStatus(errno, absl::StrCat("statvfs ", path));
  if (disk.f_bavail >= static_cast<uint64_t>(bytes) / disk.f_frsize) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(path, ": less than ", bytes, " bytes free"));
}

absl::Status Lengthen(sqlite3_file* file, int64_t bytes, const std::string& path) {
  const sqlite3_io_methods& io = *file->pMethods;
  sqlite3_int64 had = 0;
  int rc = io.xFileSize(file, &had);
  if (rc == SQLITE_OK && had >= bytes) return absl::OkStatus();
  const std::string zeros(64 << 10, '\0');  // SQLite writes less than 128 KiB at once
  for (sqlite3_int64 end = had; rc == SQLITE_OK && end < bytes;) {
    const auto count = std::min<sqlite3_int64>(bytes - end, static_cast<int>(zeros.size()));
    rc = io.xWrite(file, zeros.data(), static_cast<int>(count), end);
    end += count;
  }
  if (rc == SQLITE_OK) rc = io.xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
  if (rc == SQLITE_OK) return absl::OkStatus();
  io.xTruncate(file, had);
  return absl::InternalError(absl::StrCat(path, "-wal: cannot be lengthened (code ", rc, ")"));
}

}  // namespace

int64_t Row::Int(int64_t if_null) {
  const int column = next_++;
  // SQLite itself reads NULL as 0.
  if (if_null != 0 && sqlite3_column_type(stmt_, column) == SQLITE_NULL) return if_null;
  return sqlite3_column_int64(stmt_, column);
}

int32_t Row::Int32(int32_t if_null) {
  const int64_t value = Int(if_null);
  if (std::in_range<int32_t>(value)) return static_cast<int32_t>(value);
  Reject("has a number that does not fit");
  return 0;
}

std::optional<int32_t> Row::OptionalInt32() {
  if (NextIsNull()) {
    ++next_;
    return std::nullopt;
  }
  return Int32();
}

double Row::Real() {
  const int column = next_++;
  if (sqlite3_column_type(stmt_, column) == SQLITE_NULL) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(stmt_, column);
}

std::string Row::Text() {
  const int column = next_++;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
  if (text == nullptr) return "";
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(stmt_, column)));
}

absl::Time Row::Time(absl::Time if_null) {
  if (NextIsNull()) {
    ++next_;
    return if_null;
  }
  return absl::FromUnixMicros(Int());
}

absl::Duration Row::Duration(absl::Duration if_null) {
  if (NextIsNull()) {
    ++next_;
    return if_null;
  }
  return absl::Microseconds(Int());
}

std::string Row::Blob() {
  const int column = next_++;
  const void* const bytes = sqlite3_column_blob(stmt_, column);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes),
                     static_cast<size_t>(sqlite3_column_bytes(stmt_, column)));
}

int Row::columns() const { return sqlite3_column_count(stmt_); }

bool Row::NextIsNull() const { return sqlite3_column_type(stmt_, next_) == SQLITE_NULL; }

void Row::Reject(absl::string_view why) {
  if (!rejected_.empty()) return;
  const char* name = sqlite3_column_name(stmt_, next_ > 0 ? next_ - 1 : 0);
  rejected_ = absl::StrCat("column ", name == nullptr ? "?" : name, " ", why);
}

Statement::~Statement() { sqlite3_finalize(stmt_); }

void Statement::Check(int rc) {
  if (rc != SQLITE_OK && status_.ok()) status_ = db_->ErrorStatus(rc);
}

Statement& Statement::Int(int64_t value) {
  Check(sqlite3_bind_int64(stmt_, next_++, value));
  return *this;
}

Statement& Statement::IntOrNull(int64_t value, int64_t null_value) {
  return value == null_value ? Null() : Int(value);
}

Statement& Statement::OptionalInt32(std::optional<int32_t> value) {
  return value.has_value() ? Int(*value) : Null();
}

Statement& Statement::Real(double value) {
  Check(sqlite3_bind_double(stmt_, next_++, value));
  return *this;
}

Statement& Statement::Text(absl::string_view value) {
  // A null pointer would bind NULL, and an empty string_view may hold one.
  const char* data = value.empty() ? "" : value.data();
  Check(sqlite3_bind_text64(stmt_, next_++, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::TextOrNull(absl::string_view value) {
  return value.empty() ? Null() : Text(value);
}

Statement& Statement::Time(absl::Time value) {
  if (value == absl::InfinitePast() || value == absl::InfiniteFuture()) return Null();
  return Int(absl::ToUnixMicros(value));
}

Statement& Statement::Duration(absl::Duration value) {
  if (value == absl::InfiniteDuration()) return Null();
  return Int(absl::ToInt64Microseconds(value));
}

Statement& Statement::Blob(absl::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  Check(sqlite3_bind_blob64(stmt_, next_++, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::Null() {
  Check(sqlite3_bind_null(stmt_, next_++));
  return *this;
}

absl::Status Statement::Run() {
  return Query([](Row&) {});
}

absl::Status Statement::Query(absl::FunctionRef<void(Row&)> each) {
  while (status_.ok()) {
    const int rc = sqlite3_step(stmt_);
    if (rc == SQLITE_DONE) break;
    if (rc != SQLITE_ROW) {
      Check(rc);
      break;
    }
    Row row(stmt_);
    each(row);
    if (!row.rejected().empty()) {
      status_ = absl::DataLossError(
          absl::StrCat(db_->path(), ": ", row.rejected(), ": ", kDamagedAdvice));
    }
  }
  absl::Status result = std::exchange(status_, prepared_);
  next_ = 1;
  if (stmt_ != nullptr) {
    sqlite3_reset(stmt_);
    sqlite3_clear_bindings(stmt_);
  }
  return result;
}

absl::StatusOr<bool> Statement::QueryOne(absl::FunctionRef<void(Row&)> only) {
  bool found = false;
  HPC_RETURN_IF_ERROR(Query([&](Row& row) {
    if (!found) only(row);
    found = true;
  }));
  return found;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path,
                                                             absl::Duration busy_timeout) {
  HPC_RETURN_IF_ERROR(CheckPlainFiles(path));
  HPC_RETURN_IF_ERROR(KeepPrivate(path));
  sqlite3* db = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int rc = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (db == nullptr) return absl::ResourceExhaustedError(absl::StrCat(path, ": out of memory"));
  std::unique_ptr<Connection> connection(new Connection(db, path));
  if (rc != SQLITE_OK) {
    HPC_RETURN_IF_ERROR(CheckFolder(path));
    return connection->ErrorStatus(rc);
  }
  // If SQLite may not write a file, it silently opens it for reading only.
  if (sqlite3_db_readonly(db, "main") == 1) return connection->ErrorStatus(SQLITE_READONLY);
  sqlite3_busy_timeout(db, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::OpenToRead(const std::string& path) {
  const std::string uri =
      absl::StrCat("file:", absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
                   "?immutable=1");
  return OpenForReading(path, uri, SQLITE_OPEN_URI);
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::OpenBeside(const std::string& path,
                                                                   absl::Duration busy_timeout) {
  HPC_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection, OpenForReading(path, path, 0));
  sqlite3_busy_timeout(connection->db_, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  return connection;
}

absl::StatusOr<std::unique_ptr<Connection>> Connection::OpenForReading(const std::string& path,
                                                                       const std::string& name,
                                                                       int flags) {
  HPC_RETURN_IF_ERROR(CheckPlainFiles(path));
  sqlite3* db = nullptr;
  const int rc = sqlite3_open_v2(
      name.c_str(), &db, flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  if (db == nullptr) return absl::ResourceExhaustedError(absl::StrCat(path, ": out of memory"));
  std::unique_ptr<Connection> connection(new Connection(db, path));
  if (rc != SQLITE_OK) return connection->ErrorStatus(rc);
  return connection;
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(db_);
}

Statement& Connection::Sql(const std::string& text) {
  std::unique_ptr<Statement>& slot = statements_[text];
  if (slot == nullptr || !slot->prepared().ok()) {
    sqlite3_stmt* stmt = nullptr;
    const int rc = sqlite3_prepare_v3(db_, text.data(), static_cast<int>(text.size()),
                                      SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
    slot = std::make_unique<Statement>(this, stmt,
                                       rc == SQLITE_OK ? absl::OkStatus() : ErrorStatus(rc));
  }
  return *slot;
}

absl::Status Connection::Execute(const std::string& script) {
  const int rc = sqlite3_exec(db_, script.c_str(), nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? absl::OkStatus() : ErrorStatus(rc);
}

absl::StatusOr<int64_t> Connection::ReadNumber(const std::string& query) {
  int64_t value = 0;
  HPC_RETURN_IF_ERROR(Sql(query).Query([&](Row& row) { value = row.Int(); }));
  return value;
}

absl::Status Connection::InTransaction(absl::FunctionRef<absl::Status()> body) {
  HPC_RETURN_IF_ERROR(Sql("BEGIN IMMEDIATE").Run());
  absl::Status status = body();
  if (status.ok()) status = Sql("COMMIT").Run();
  // After some errors, such as a full disk, SQLite has already rolled back by itself.
  if (!status.ok() && sqlite3_get_autocommit(db_) == 0) Sql("ROLLBACK").Run().IgnoreError();
  return status;
}

absl::Status Connection::InSnapshot(absl::FunctionRef<absl::Status()> body) {
  HPC_RETURN_IF_ERROR(Sql("BEGIN").Run());
  absl::Status status = body();
  const absl::Status ended = Sql("COMMIT").Run();
  return status.ok() ? ended : status;
}

absl::Status Connection::LengthenLog(int64_t bytes) {
  HPC_RETURN_IF_ERROR(CheckRoom(path_, 64 * bytes));
  // Nobody else appends to the log meanwhile, since the transaction has the write lock.
  return InTransaction([&] {
    sqlite3_file* log = nullptr;
    const int rc = sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (rc != SQLITE_OK) return ErrorStatus(rc);
    return log->pMethods == nullptr ? absl::OkStatus() : Lengthen(log, bytes, path_);
  });
}

void Connection::Interrupt() { sqlite3_interrupt(db_); }

absl::Status Connection::CheckInPlace() const {
  int moved = 0;
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
      moved == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path_,
      ": was deleted or replaced while it is in use: what is written now would be lost; restore it "
      "from a backup and start again"));
}

absl::Status Connection::ErrorStatus(int rc) const {
  // The extended code tells more, unless the call failed before it reached the database.
  const int extended = sqlite3_extended_errcode(db_);
  const bool of_this_call = (extended & 0xff) == (rc & 0xff);
  return MakeStatus(of_this_call ? extended : rc, sqlite3_system_errno(db_), path_,
                    of_this_call ? sqlite3_errmsg(db_) : sqlite3_errstr(rc));
}

}  // namespace hpc::coordinator

// A thin layer over SQLite's C interface: ownership, prepared statements that are kept, and errors
// as absl::Status.
//
//   HPC_RETURN_IF_ERROR(db->Sql("INSERT INTO t VALUES (?, ?)").Int(7).Text("seven").Run());
//   HPC_RETURN_IF_ERROR(db->Sql("SELECT b FROM t WHERE a = ?").Int(7).Query(
//       [&](Row& row) { found.push_back(row.Text()); }));
//
// Nothing here is safe for use by two threads at once.
//
// Codes: Aborted (interrupted), ResourceExhausted (disk full, out of memory), Unavailable (locked
// by another process for longer than the busy timeout), DataLoss (damaged, or not a database),
// PermissionDenied (cannot be written), the code that ErrnoStatus gives to an error of the
// operating system, and Internal for all else. Each message begins with the file's path and says
// what to do.
#ifndef HPC_COORDINATOR_STORE_SQLITE_H_
#define HPC_COORDINATOR_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hpc::coordinator {

class Connection;

// Every report of a damaged database ends with this advice.
inline constexpr char kDamagedAdvice[] =
    "it was left as it is; restore a backup, or see docs/OPERATIONS.md, 'In trouble'";

// The current row of a result, read column by column from left to right.
class Row {
 public:
  explicit Row(sqlite3_stmt* stmt) : stmt_(stmt) {}

  int64_t Int(int64_t if_null = 0);
  int32_t Int32(int32_t if_null = 0);  // a number that does not fit is rejected
  bool Bool() { return Int() != 0; }
  std::optional<int32_t> OptionalInt32();
  double Real();       // NULL is NaN
  std::string Text();  // NULL is ""
  absl::Time Time(absl::Time if_null);
  absl::Duration Duration(absl::Duration if_null);
  std::string Blob();
  bool NextIsNull() const;
  int columns() const;

  // Makes the query fail with DataLoss, because what was read cannot be what was written.
  void Reject(absl::string_view why);
  const std::string& rejected() const { return rejected_; }

 private:
  sqlite3_stmt* stmt_;
  int next_ = 0;
  std::string rejected_;
};

// A prepared statement. Values are bound in the order of its parameters. Running it clears them.
class Statement {
 public:
  Statement(Connection* db, sqlite3_stmt* stmt, absl::Status prepared)
      : db_(db), stmt_(stmt), status_(prepared), prepared_(std::move(prepared)) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Int(int64_t value);
  Statement& IntOrNull(int64_t value, int64_t null_value);
  Statement& OptionalInt32(std::optional<int32_t> value);
  Statement& Real(double value);  // SQLite stores NaN as NULL
  Statement& Text(absl::string_view value);
  Statement& TextOrNull(absl::string_view value);  // "" becomes NULL
  Statement& Time(absl::Time value);               // microseconds; infinite becomes NULL
  Statement& Duration(absl::Duration value);       // microseconds; infinite becomes NULL
  Statement& Blob(absl::string_view bytes);
  Statement& Null();

  absl::Status Run();
  // Calls `each` for every row. It must not run the same statement.
  absl::Status Query(absl::FunctionRef<void(Row&)> each);
  // The same for at most one row. Returns whether there was one.
  absl::StatusOr<bool> QueryOne(absl::FunctionRef<void(Row&)> only);

  // Whether SQLite has understood the text of the statement.
  const absl::Status& prepared() const { return prepared_; }

 private:
  void Check(int rc);

  Connection* db_;
  sqlite3_stmt* stmt_;
  int next_ = 1;
  absl::Status status_;          // first error since the last run
  const absl::Status prepared_;  // the result of preparing the SQL text
};

class Connection {
 public:
  // Opens the file, or creates it for its owner alone (0600). Changes no setting and reads nothing
  // yet.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& path,
                                                          absl::Duration busy_timeout);
  // Opens an existing file, which nobody changes, for reading. Makes no files beside it.
  static absl::StatusOr<std::unique_ptr<Connection>> OpenToRead(const std::string& path);
  // Opens for reading a file that another connection of this process has open in write-ahead mode,
  // and keeps open for longer than this one.
  static absl::StatusOr<std::unique_ptr<Connection>> OpenBeside(const std::string& path,
                                                                absl::Duration busy_timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const std::string& path() const { return path_; }

  // The statement for this text, prepared once and kept for the connection's life. Texts must
  // therefore come from a bounded set. A text that cannot be prepared fails when it is run, and is
  // tried again the next time.
  Statement& Sql(const std::string& text);

  // Runs any number of statements without parameters, ignoring rows.
  absl::Status Execute(const std::string& script);

  // Returns the first column of the last row that a statement without parameters gives, or 0 if it
  // gives none.
  absl::StatusOr<int64_t> ReadNumber(const std::string& query);

  // Runs `body` in a transaction that takes the write lock first. Commits if `body` returns OK, and
  // otherwise rolls back.
  absl::Status InTransaction(absl::FunctionRef<absl::Status()> body);
  // Runs `body` in a transaction that only reads. All that it reads is of one moment.
  absl::Status InSnapshot(absl::FunctionRef<absl::Status()> body);

  // Makes the write-ahead log `bytes` long if it is shorter, by writing zeros behind its content,
  // and syncs them. A later commit overwrites the zeros, so it has only its data to sync and not
  // also a new file length. If this fails, the log stays as it was. ResourceExhausted, without a
  // try: less than sixty-four times as much is free on the disk. Must not be called within a
  // transaction.
  absl::Status LengthenLog(int64_t bytes);

  // FailedPrecondition: the file at path() is gone, or is not the one that is open.
  absl::Status CheckInPlace() const;

  // Stops the statement that runs, which then fails with Aborted. This is the only method that may
  // be called from another thread.
  void Interrupt();

  // The status for the newest error of this connection. `rc` is SQLite's result code.
  absl::Status ErrorStatus(int rc) const;

 private:
  Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  // `name` is what SQLite opens: the path, or a URI.
  static absl::StatusOr<std::unique_ptr<Connection>> OpenForReading(const std::string& path,
                                                                    const std::string& name,
                                                                    int flags);

  sqlite3* db_;
  std::string path_;
  absl::flat_hash_map<std::string, std::unique_ptr<Statement>> statements_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_SQLITE_H_

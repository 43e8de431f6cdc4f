// The accounts of this PC that ranks run as.
#ifndef HPC_WORKER_OS_ACCOUNT_H_
#define HPC_WORKER_OS_ACCOUNT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {

struct Account {
  std::string name;
  AccountIds ids;
  std::string home;
  std::string shell;
};

// NotFound: this PC knows no such account. FailedPrecondition: it is root's, or of root's group, or
// has the number of supervisors.
absl::StatusOr<Account> FindAccount(const std::string& name);

// Which account the ranks of which user run as.
class Accounts {
 public:
  // The account where nothing else is said; what the package and the quickstart make.
  static constexpr char kDefault[] = "hpc";

  // Everybody's ranks run as the worker itself does.
  Accounts() = default;
  // For a worker that runs as root: `mapping` has pairs of user (or "*": any other) and account.
  // Empty: kDefault for all. Fails if an account cannot be had; the message says what to do.
  static absl::StatusOr<Accounts> Make(const std::map<std::string, std::string>& mapping);

  // nullptr: as the worker itself. NotFound: the mapping has no place for this user.
  absl::StatusOr<const Account*> Of(const std::string& user) const;
  // Each once.
  std::vector<const Account*> All() const;

 private:
  std::map<std::string, Account> by_user_;
};

// While one lives, the calling thread opens, reads and finds files as that account would, and
// everything else goes on as before. For root; without an account nothing changes.
class FileRights {
 public:
  explicit FileRights(const AccountIds* account);
  ~FileRights();
  FileRights(const FileRights&) = delete;
  FileRights& operator=(const FileRights&) = delete;

 private:
  bool changed_ = false;
  std::vector<uint32_t> own_groups_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_ACCOUNT_H_

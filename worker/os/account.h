// The accounts of this PC under which ranks run.
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

// NotFound: this PC knows no such account. FailedPrecondition: it is root's account, belongs to
// root's group, or has a uid that is reserved for supervisors.
absl::StatusOr<Account> FindAccount(const std::string& name);

// Which account each user's ranks run as.
class Accounts {
 public:
  // The account that is used if nothing else is configured. The package and the quickstart make it.
  static constexpr char kDefault[] = "hpc";

  // All ranks run as the worker itself does.
  Accounts() = default;
  // For a worker that runs as root. `mapping` maps a user (or "*": any other) to an account. If it
  // is empty, kDefault is for everybody. Fails if an account cannot be used; the message says what
  // to do.
  // `setuid_programs`: those of its accounts whose ranks may gain privileges by setuid programs.
  static absl::StatusOr<Accounts> Make(const std::map<std::string, std::string>& mapping,
                                       const std::vector<std::string>& setuid_programs = {});

  // nullptr: the ranks run as the worker itself. NotFound: the mapping has no account for this
  // user.
  absl::StatusOr<const Account*> Of(const std::string& user) const;
  // All accounts, each once.
  std::vector<const Account*> All() const;

 private:
  absl::Status AllowSetuidPrograms(const std::string& name);

  std::map<std::string, Account> by_user_;
};

// While an object of this class lives, the calling thread opens, reads and finds files with the
// rights of that account; everything else goes on as before. Only for root. Without an account
// nothing changes.
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

// The StoreReader of an SQLite file.
#ifndef HPC_COORDINATOR_STORE_SQLITE_READER_H_
#define HPC_COORDINATOR_STORE_SQLITE_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/store/store_reader.h"

namespace hpc::coordinator {

// Opens the file of a store that is open. `busy_timeout` is how long a read waits while another
// process has locked the file against everybody.
absl::StatusOr<std::unique_ptr<StoreReader>> OpenSqliteReader(const std::string& path,
                                                              absl::Duration busy_timeout);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_SQLITE_READER_H_

// Shaped like absl/status/status_macros.h, which Debian 12's Abseil does not have yet.
#ifndef HPC_COMMON_STATUS_MACROS_H_
#define HPC_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function with the status of `expr` unless it is OK.
#define HPC_RETURN_IF_ERROR(expr)              \
  do {                                         \
    absl::Status hpc_status_ = (expr);         \
    if (!hpc_status_.ok()) return hpc_status_; \
  } while (false)

// Sets `lhs` to the value of `expr`, or returns with the status of `expr`. `lhs` may declare a
// variable.
#define HPC_ASSIGN_OR_RETURN(lhs, expr) \
  HPC_ASSIGN_OR_RETURN_IMPL_(HPC_CONCAT_(hpc_statusor_, __LINE__), lhs, expr)
#define HPC_ASSIGN_OR_RETURN_IMPL_(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return tmp.status();              \
  lhs = std::move(tmp).value()
#define HPC_CONCAT_(a, b) HPC_CONCAT_INNER_(a, b)
#define HPC_CONCAT_INNER_(a, b) a##b

#endif  // HPC_COMMON_STATUS_MACROS_H_

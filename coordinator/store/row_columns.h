// Columns that hold a word or JSON text. All row mappings share these functions. A value that
// cannot be understood makes the query fail with DataLoss.
#ifndef HPC_COORDINATOR_STORE_ROW_COLUMNS_H_
#define HPC_COORDINATOR_STORE_ROW_COLUMNS_H_

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/json_text.h"
#include "coordinator/store/names.h"
#include "coordinator/store/sqlite.h"

namespace hpc::coordinator {

template <typename E>
E ReadWord(Row& row) {
  const std::string word = row.Text();
  const std::optional<E> value = FromWord<E>(word);
  if (!value.has_value()) row.Reject(absl::StrCat("holds the unknown word '", word, "'"));
  return value.value_or(E{});
}

// `parse` is one of the FromJson functions.
template <typename T>
T ReadJson(Row& row, std::optional<T> (*parse)(const std::string&)) {
  std::optional<T> value = parse(row.Text());
  if (!value.has_value()) row.Reject("holds JSON of another form than is written there");
  return std::move(value).value_or(T{});
}

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_ROW_COLUMNS_H_

// Reads whole numbers from a file that may be damaged. nlohmann::json by itself would cut a number
// to the size that is asked for, and could give anything for a fraction that does not fit.
#ifndef HPC_WORKER_OS_JSON_NUMBER_H_
#define HPC_WORKER_OS_JSON_NUMBER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace hpc::worker {

// Throws std::exception if it is not a whole number, or does not fit T.
template <typename T>
T WholeNumber(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (std::in_range<T>(number)) return static_cast<T>(number);
  }
  throw std::out_of_range("not a whole number of the kind that is kept here");
}

template <typename T>
T WholeNumberAt(const nlohmann::json& object, const char* key) {
  return WholeNumber<T>(object.at(key));
}

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_JSON_NUMBER_H_

// Lists and maps as the JSON text that the database holds. Bytes that are not valid UTF-8 are
// stored as U+FFFD. Reading returns nullopt if the text is not what these functions write.
#ifndef HPC_COORDINATOR_STORE_JSON_TEXT_H_
#define HPC_COORDINATOR_STORE_JSON_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/core/values/records.h"
#include "protocol/inventory.h"

namespace hpc::coordinator {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

// ["a","b"]
std::string ToJson(const std::vector<std::string>& list);
std::optional<std::vector<std::string>> TextsFromJson(const std::string& json);

// [0,1]
std::string ToJson(const std::vector<int32_t>& list);
std::optional<std::vector<int32_t>> IntsFromJson(const std::string& json);

// {"k":"v"}, in the given order. A key that is given twice is written twice.
std::string ToJson(const TextPairs& pairs);
std::optional<TextPairs> PairsFromJson(const std::string& json);

// Arrays of objects with the members' names. Unknown members are ignored and missing ones keep
// their defaults, so a member can be added without a migration.
std::string ToJson(const std::vector<protocol::Device>& devices);
std::optional<std::vector<protocol::Device>> DevicesFromJson(const std::string& json);
std::string ToJson(const std::vector<protocol::Disk>& disks);
std::optional<std::vector<protocol::Disk>> DisksFromJson(const std::string& json);
std::string ToJson(const std::vector<protocol::NetworkInterface>& interfaces);
std::string ToJson(const std::vector<CauseRecord>& causes);
std::optional<std::vector<CauseRecord>> CausesFromJson(const std::string& json);
std::optional<std::vector<protocol::NetworkInterface>> InterfacesFromJson(const std::string& json);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_JSON_TEXT_H_

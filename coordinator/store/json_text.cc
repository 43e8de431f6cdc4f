#include "coordinator/store/json_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coordinator/store/names.h"

namespace hpc::coordinator {
namespace {

using nlohmann::json;

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Collects the strings of a flat array or object, and the keys of an object. A parsed tree would
// lose the order and the repetition of keys.
class FlatTexts : public nlohmann::json_sax<json> {
 public:
  explicit FlatTexts(bool object) : object_(object) {}

  std::vector<std::string> keys;
  std::vector<std::string> values;

  bool string(string_t& text) override {
    values.push_back(std::move(text));
    return depth_ == 1;
  }
  bool key(string_t& text) override {
    keys.push_back(std::move(text));
    return true;
  }
  bool start_object(size_t) override { return object_ && ++depth_ == 1; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return !object_ && ++depth_ == 1; }
  bool end_array() override { return true; }
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return false; }
  bool number_unsigned(number_unsigned_t) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  const bool object_;
  int depth_ = 0;
};

// Reads an array of strings as we write it: ASCII without escapes. nullopt: the text needs a real
// parser. A listing reads tens of thousands of such arrays.
std::optional<std::vector<std::string>> PlainTexts(absl::string_view json_text) {
  if (json_text == "[]") return std::vector<std::string>();
  std::vector<std::string> texts;
  if (!absl::ConsumePrefix(&json_text, "[\"") || !absl::ConsumeSuffix(&json_text, "\"]")) {
    return std::nullopt;
  }
  for (const absl::string_view text : absl::StrSplit(json_text, "\",\"")) {
    for (const char c : text) {
      if (c < ' ' || c > '~' || c == '"' || c == '\\') return std::nullopt;
    }
    texts.emplace_back(text);
  }
  return texts;
}

// Reads members of one object. It is false once any has the wrong type.
class Members {
 public:
  explicit Members(const json& object) : object_(object), ok_(object.is_object()) {}

  bool ok() const { return ok_; }

  void Text(const char* name, std::string* out) {
    if (const json* value = Find(name)) {
      ok_ = ok_ && value->is_string();
      if (ok_) *out = value->get<std::string>();
    }
  }
  void Flag(const char* name, bool* out) {
    if (const json* value = Find(name)) {
      ok_ = ok_ && value->is_boolean();
      if (ok_) *out = value->get<bool>();
    }
  }
  template <typename Int>
  void Number(const char* name, Int* out) {
    if (const json* value = Find(name)) {
      ok_ = ok_ && value->is_number_integer();
      if (ok_) *out = value->get<Int>();
    }
  }

 private:
  const json* Find(const char* name) {
    if (!ok_) return nullptr;
    const auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
  }

  const json& object_;
  bool ok_;
};

bool ReadOne(const json& object, protocol::Device* device) {
  Members in(object);
  std::string kind(ToWord(device->kind));
  in.Number("index", &device->index);
  in.Text("kind", &kind);
  in.Text("uuid", &device->uuid);
  in.Text("name", &device->name);
  in.Number("memory_bytes", &device->memory_bytes);
  in.Text("pci_bus_id", &device->pci_bus_id);
  const std::optional<protocol::DeviceKind> known = FromWord<protocol::DeviceKind>(kind);
  if (!in.ok() || !known.has_value()) return false;
  device->kind = *known;
  return true;
}

bool ReadOne(const json& object, protocol::Disk* disk) {
  Members in(object);
  in.Text("mount", &disk->mount);
  in.Number("total_bytes", &disk->total_bytes);
  in.Number("free_bytes", &disk->free_bytes);
  return in.ok();
}

bool ReadOne(const json& object, protocol::NetworkInterface* interface) {
  Members in(object);
  in.Text("name", &interface->name);
  in.Text("address", &interface->address);
  in.Text("mac", &interface->mac);
  in.Number("speed_mbps", &interface->speed_mbps);
  in.Text("broadcast", &interface->broadcast);
  int32_t wake_on_lan = 0;
  in.Number("wake_on_lan", &wake_on_lan);
  if (wake_on_lan < 0 || wake_on_lan > 2) return false;
  interface->wake_on_lan = static_cast<protocol::WakeOnLan>(wake_on_lan);
  return in.ok();
}

bool ReadOne(const json& object, CauseRecord* cause) {
  Members in(object);
  std::string kind, outcome;
  int64_t from = 0, until = 0;
  in.Text("kind", &kind);
  in.Number("rank", &cause->rank);
  in.Text("outcome", &outcome);
  in.Number("from", &from);
  in.Number("until", &until);
  in.Text("node", &cause->node);
  in.Text("text", &cause->text);
  in.Number("exit_code", &cause->exit_code);
  in.Flag("free_of_charge", &cause->free_of_charge);
  in.Flag("guessed", &cause->guessed);
  in.Flag("of_complaints", &cause->of_complaints);
  const std::optional<CauseKind> known = FromWord<CauseKind>(kind);
  const std::optional<AttemptOutcome> known_outcome = FromWord<AttemptOutcome>(outcome);
  if (!in.ok() || !known.has_value() || !known_outcome.has_value()) return false;
  cause->kind = *known;
  if (IsFailure(cause->kind)) return true;
  cause->outcome = *known_outcome;
  cause->from = absl::FromUnixMicros(from);
  cause->until = absl::FromUnixMicros(until);
  return true;
}

template <typename T>
std::optional<std::vector<T>> ReadAll(const std::string& text) {
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array()) return std::nullopt;
  std::vector<T> all;
  for (const json& object : parsed) {
    if (!ReadOne(object, &all.emplace_back())) return std::nullopt;
  }
  return all;
}

}  // namespace

std::string ToJson(const std::vector<std::string>& list) { return Dump(json(list)); }

std::optional<std::vector<std::string>> TextsFromJson(const std::string& json_text) {
  if (auto plain = PlainTexts(json_text)) return plain;
  FlatTexts texts(/*object=*/false);
  if (!json::sax_parse(json_text, &texts)) return std::nullopt;
  return std::move(texts.values);
}

std::string ToJson(const std::vector<int32_t>& list) { return Dump(json(list)); }

std::optional<std::vector<int32_t>> IntsFromJson(const std::string& json_text) {
  if (json_text == "[]") return std::vector<int32_t>();
  const json parsed = json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array()) return std::nullopt;
  std::vector<int32_t> ints;
  for (const json& value : parsed) {
    if (!value.is_number_integer()) return std::nullopt;
    ints.push_back(value.get<int32_t>());
  }
  return ints;
}

std::string ToJson(const TextPairs& pairs) {
  std::string out = "{";
  for (const auto& [key, value] : pairs) {
    if (out.size() > 1) out += ',';
    out += Dump(json(key));
    out += ':';
    out += Dump(json(value));
  }
  out += '}';
  return out;
}

std::optional<TextPairs> PairsFromJson(const std::string& json_text) {
  FlatTexts texts(/*object=*/true);
  if (!json::sax_parse(json_text, &texts)) return std::nullopt;
  TextPairs pairs;
  pairs.reserve(texts.keys.size());
  for (size_t i = 0; i < texts.keys.size(); ++i) {
    pairs.emplace_back(std::move(texts.keys[i]), std::move(texts.values[i]));
  }
  return pairs;
}

std::string ToJson(const std::vector<protocol::Device>& devices) {
  json all = json::array();
  for (const protocol::Device& device : devices) {
    all.push_back({{"index", device.index},
                   {"kind", std::string(ToWord(device.kind))},
                   {"uuid", device.uuid},
                   {"name", device.name},
                   {"memory_bytes", device.memory_bytes},
                   {"pci_bus_id", device.pci_bus_id}});
  }
  return Dump(all);
}

std::optional<std::vector<protocol::Device>> DevicesFromJson(const std::string& json_text) {
  return ReadAll<protocol::Device>(json_text);
}

std::string ToJson(const std::vector<protocol::Disk>& disks) {
  json all = json::array();
  for (const protocol::Disk& disk : disks) {
    all.push_back({{"mount", disk.mount},
                   {"total_bytes", disk.total_bytes},
                   {"free_bytes", disk.free_bytes}});
  }
  return Dump(all);
}

std::optional<std::vector<protocol::Disk>> DisksFromJson(const std::string& json_text) {
  return ReadAll<protocol::Disk>(json_text);
}

std::string ToJson(const std::vector<protocol::NetworkInterface>& interfaces) {
  json all = json::array();
  for (const protocol::NetworkInterface& interface : interfaces) {
    all.push_back({{"name", interface.name},
                   {"address", interface.address},
                   {"mac", interface.mac},
                   {"speed_mbps", interface.speed_mbps},
                   {"broadcast", interface.broadcast},
                   {"wake_on_lan", static_cast<int32_t>(interface.wake_on_lan)}});
  }
  return Dump(all);
}

std::optional<std::vector<protocol::NetworkInterface>> InterfacesFromJson(
    const std::string& json_text) {
  return ReadAll<protocol::NetworkInterface>(json_text);
}

std::string ToJson(const std::vector<CauseRecord>& causes) {
  json all = json::array();
  for (const CauseRecord& cause : causes) {
    json& one = all.emplace_back();
    one["kind"] = std::string(ToWord(cause.kind));
    one["rank"] = cause.rank;
    if (IsFailure(cause.kind)) continue;
    one["outcome"] = std::string(ToWord(cause.outcome));
    one["from"] = absl::ToUnixMicros(cause.from);
    one["until"] = absl::ToUnixMicros(cause.until);
    one["node"] = cause.node;
    one["text"] = cause.text;
    one["exit_code"] = cause.exit_code;
    one["free_of_charge"] = cause.free_of_charge;
    one["guessed"] = cause.guessed;
    one["of_complaints"] = cause.of_complaints;
  }
  return Dump(all);
}

std::optional<std::vector<CauseRecord>> CausesFromJson(const std::string& json_text) {
  return ReadAll<CauseRecord>(json_text);
}

}  // namespace hpc::coordinator

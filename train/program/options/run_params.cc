#include "train/program/options/run_params.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace hpc::train {

RunParams ParseRunParams(const std::string& path, const std::string& text,
                         const OptionTable& table) {
  const auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) throw UsageError(absl::StrCat(path, ": it is no JSON object"));
  RunParams params;
  for (const auto& [key, value] : parsed.items()) {
    if (value.is_structured() || value.is_null()) {
      throw UsageError(absl::StrCat(path, ": parameter '", key, "' is no text, number or boolean"));
    }
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string name = absl::StrReplaceAll(key, {{"_", "-"}});
    if (!table.Has(name)) {
      params.unused.push_back(key);
    } else if (!table.IsSwitch(name)) {
      params.arguments.push_back(absl::StrCat("--", name, "=", shown));
    } else if (shown == "true") {
      params.arguments.push_back(absl::StrCat("--", name));
    }
  }
  return params;
}

}  // namespace hpc::train

#include "train/checkpoint/checkpoint_manifest.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"

namespace hpc::train {
namespace {

using nlohmann::json;

constexpr char kFormatName[] = "hpc-train checkpoint";

json EncodeTensors(const std::vector<CheckpointTensor>& tensors) {
  json list = json::array();
  for (const CheckpointTensor& one : tensors) {
    list.push_back({{"name", one.name}, {"dtype", one.dtype}, {"shape", one.shape}});
  }
  return list;
}

std::vector<CheckpointTensor> ParseTensors(const json& list) {
  std::vector<CheckpointTensor> tensors;
  for (const json& one : list) {
    tensors.push_back({one.at("name").get<std::string>(), one.at("dtype").get<std::string>(),
                       one.at("shape").get<std::vector<int64_t>>()});
  }
  return tensors;
}

std::vector<CheckpointFile> ParseFiles(const json& list) {
  std::vector<CheckpointFile> files;
  for (const json& one : list) {
    files.push_back({one.at("name").get<std::string>(), one.at("bytes").get<uint64_t>(),
                     one.at("sha256").get<std::string>()});
    const std::string& name = files.back().name;
    if (name.empty() || name[0] == '.' || name.find_first_of(std::string("/\0", 2)) != name.npos) {
      throw CheckpointError("it names a file '" + OneLine(name) + "', which is none of its folder");
    }
  }
  return files;
}

void CheckFormat(const json& parsed) {
  if (parsed.at("what").get<std::string>() != kFormatName) {
    throw CheckpointError("it is no manifest of a checkpoint");
  }
  const int64_t format = parsed.at("format").get<int64_t>();
  if (format > kCheckpointFormat) {
    throw NewerCheckpointError(absl::StrCat("it is of format ", format,
                                            ", and this program reads up to ", kCheckpointFormat,
                                            ": it was written by a newer one"));
  }
}

std::string TensorText(const CheckpointTensor& one) {
  return absl::StrCat(one.dtype, "[", absl::StrJoin(one.shape, ", "), "]");
}

}  // namespace

std::string EncodeManifest(const CheckpointManifest& manifest) {
  json files = json::array();
  for (const CheckpointFile& one : manifest.files) {
    files.push_back({{"name", one.name}, {"bytes", one.bytes}, {"sha256", one.sha256}});
  }
  json encoded = {{"what", kFormatName},
                  {"format", kCheckpointFormat},
                  {"run", manifest.run},
                  {"step", manifest.step},
                  {"world", manifest.world},
                  {"optimizer", manifest.optimizer},
                  {"values", manifest.values},
                  {"parameters", EncodeTensors(manifest.parameters)},
                  {"buffers", EncodeTensors(manifest.buffers)},
                  {"files", files}};
  if (manifest.metric && std::isfinite(*manifest.metric)) encoded["metric"] = *manifest.metric;
  return encoded.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

CheckpointManifest ParseManifest(absl::string_view text) {
  const json parsed = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) throw CheckpointError("it is not a JSON object");
  try {
    CheckFormat(parsed);
    CheckpointManifest manifest = {
        .run = parsed.at("run").get<std::string>(),
        .step = parsed.at("step").get<int64_t>(),
        .world = parsed.at("world").get<int>(),
        .optimizer = parsed.at("optimizer").get<std::string>(),
        .values = parsed.at("values").get<std::map<std::string, std::string>>(),
        .parameters = ParseTensors(parsed.at("parameters")),
        .buffers = ParseTensors(parsed.at("buffers")),
        .files = ParseFiles(parsed.at("files")),
    };
    if (manifest.step < 0 || manifest.world < 1) {
      throw CheckpointError(absl::StrCat("it says step ", manifest.step, " of ",
                                         Count(manifest.world, "rank"), ": it is damaged"));
    }
    const size_t least = manifest.optimizer.empty() ? 1 : 2;
    if (manifest.files.size() < least) {
      throw CheckpointError(
          absl::StrCat("it names ", Count(manifest.files.size(), "file"), ": it is damaged"));
    }
    if (parsed.contains("metric")) manifest.metric = parsed.at("metric").get<double>();
    return manifest;
  } catch (const json::exception& error) {
    throw CheckpointError(absl::StrCat("it says something else than was written: ",
                                       OneLine(std::string(error.what()).substr(0, 200))));
  }
}

std::optional<std::string> FirstDifference(const std::string& what,
                                           const std::vector<CheckpointTensor>& checkpoint,
                                           const std::vector<CheckpointTensor>& model) {
  std::map<std::string, const CheckpointTensor*> saved;
  for (const CheckpointTensor& one : checkpoint) saved[one.name] = &one;
  for (const CheckpointTensor& one : model) {
    const auto found = saved.find(one.name);
    if (found == saved.end()) {
      return absl::StrCat(what, " '", one.name, "' is not in the checkpoint");
    }
    const std::string there = TensorText(*found->second), here = TensorText(one);
    if (there != here) {
      return absl::StrCat(what, " '", one.name, "' is ", there, " in the checkpoint and ", here,
                          " in the model");
    }
    saved.erase(found);
  }
  for (const CheckpointTensor& one : checkpoint) {
    if (saved.count(one.name) != 0) {
      return absl::StrCat(what, " '", OneLine(one.name), "' is in the checkpoint alone");
    }
  }
  return std::nullopt;
}

}  // namespace hpc::train

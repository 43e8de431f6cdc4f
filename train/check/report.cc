#include "train/check/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"

namespace hpc::train {
namespace {

using nlohmann::ordered_json;

std::string Ranks(const GangResult& gang) {
  std::string text = absl::StrFormat("%-6s%-20s%-12s%s\n", "RANK", "PC", "HPC-TRAIN", "TORCH");
  for (size_t rank = 0; rank < gang.ranks.size(); ++rank) {
    const RankFacts& facts = gang.ranks[rank];
    absl::StrAppendFormat(&text, "%-6d%-20s%-12s%s\n", rank, facts.host, facts.program,
                          facts.torch);
  }
  return text;
}

std::string Reduces(const GangResult& gang) {
  const int ranks = static_cast<int>(gang.ranks.size());
  std::string text =
      absl::StrFormat("%-14s%-12s%-14s%-14s%s\n", "ALL-REDUCE", "TIME", "ALGORITHM", "BUS", "SUMS");
  for (const ReduceResult& one : gang.reduces) {
    absl::StrAppendFormat(
        &text, "%-14s%-12s%-14s%-14s%s\n", HumanBytes(static_cast<uint64_t>(one.bytes)),
        TimeWords(one.seconds), SpeedWords(static_cast<double>(one.bytes) / one.seconds),
        SpeedWords(BusBandwidth(one, ranks)), one.wrong.empty() ? "exact" : "WRONG");
  }
  return text;
}

std::string Pairs(const GangResult& gang) {
  std::string text = absl::StrFormat("%-30s%-14s%-14s%s\n", "LINK", "ROUND TRIP", "THERE", "BACK");
  for (const PairResult& pair : gang.pairs) {
    const std::string ends = absl::StrCat(gang.ranks[pair.a].host, " (", pair.a, ") - ",
                                          gang.ranks[pair.b].host, " (", pair.b, ")");
    if (!pair.error.empty()) {
      absl::StrAppendFormat(&text, "%-30s%s\n", ends, pair.error);
      continue;
    }
    absl::StrAppendFormat(&text, "%-30s%-14s%-14s%s\n", ends, TimeWords(pair.speed.round_trip),
                          SpeedWords(pair.speed.there), SpeedWords(pair.speed.back));
  }
  return text;
}

std::string Step(const GangResult& gang) {
  std::vector<std::string> alone;
  for (const Repeated& one : gang.step.alone) alone.push_back(TimeWords(one.fastest));
  return absl::StrCat("a step of ResNet-18, 4 pictures: ", TimeWords(gang.step.together),
                      " together; alone ", JoinWords(alone), "\n");
}

}  // namespace

std::string ReportTable(const GangResult& gang, const std::vector<std::string>& findings) {
  std::string text = absl::StrCat(Ranks(gang), "\n");
  if (!gang.reduces.empty()) absl::StrAppend(&text, Reduces(gang), "\n");
  if (!gang.pairs.empty()) absl::StrAppend(&text, Pairs(gang), "\n");
  absl::StrAppend(&text, Step(gang), "\n");
  if (findings.empty()) return absl::StrCat(text, "nothing is wrong with this gang\n");
  for (const std::string& one : findings) absl::StrAppend(&text, "! ", one, "\n");
  return text;
}

std::string ReportJson(const GangResult& gang, const std::vector<std::string>& findings,
                       const std::optional<Broken>& broken) {
  const int ranks = static_cast<int>(gang.ranks.size());
  ordered_json json = {{"ranks", ordered_json::array()},
                       {"all_reduce", ordered_json::array()},
                       {"links", ordered_json::array()}};
  for (const RankFacts& one : gang.ranks) {
    json["ranks"].push_back({{"pc", one.host}, {"hpc_train", one.program}, {"torch", one.torch}});
  }
  for (const ReduceResult& one : gang.reduces) {
    json["all_reduce"].push_back({{"bytes", one.bytes},
                                  {"seconds", one.seconds},
                                  {"bus_bytes_per_second", BusBandwidth(one, ranks)},
                                  {"wrong_on", one.wrong}});
  }
  for (const PairResult& one : gang.pairs) {
    json["links"].push_back({{"ranks", {one.a, one.b}},
                             {"round_trip_seconds", one.speed.round_trip},
                             {"there_bytes_per_second", one.speed.there},
                             {"back_bytes_per_second", one.speed.back},
                             {"error", one.error}});
  }
  std::vector<double> fastest, slow;
  for (const Repeated& one : gang.step.alone) {
    fastest.push_back(one.fastest);
    slow.push_back(one.slow);
  }
  if (!fastest.empty()) {
    json["step"] = {{"alone_seconds", fastest},
                    {"alone_slow_seconds", slow},
                    {"together_seconds", gang.step.together}};
  }
  json["findings"] = findings;
  if (broken) {
    json["error"] = broken->error;
    json["missing"] = broken->ranks;
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace hpc::train

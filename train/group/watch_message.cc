#include "train/group/watch_message.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/group/rank_list.h"

namespace hpc::train {
namespace {

constexpr size_t kMaxText = 2000;
constexpr size_t kMaxMissing = 300;

std::string Text(const std::string& text) { return OneLine(text.substr(0, kMaxText)); }

std::string Ranks(std::vector<int> ranks) {
  if (ranks.size() > kMaxMissing) ranks.resize(kMaxMissing);
  return RankList(ranks);
}

}  // namespace

std::string EncodeRequest(const WatchRequest& request) {
  if (request.stay) {
    return absl::StrCat("hpc-train 1 ", request.secret, " stay ", *request.stay, "\n");
  }
  if (!request.verdict) return absl::StrCat("hpc-train 1 ", request.secret, " ask\n");
  return absl::StrCat("hpc-train 1 ", request.secret, " tell ", Ranks(request.verdict->missing),
                      "\t", Text(request.verdict->reason), "\n");
}

std::string EncodeStatus(const RankStatus& status) {
  const Verdict verdict = status.verdict.value_or(Verdict{});
  return absl::StrCat("status ", status.entered.number, " ", status.ago.count(), " ",
                      status.verdict ? 1 : 0, " ", Ranks(verdict.missing), "\t",
                      Text(status.entered.what), "\t", Text(verdict.reason), "\n");
}

std::optional<WatchRequest> DecodeRequest(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, '\t');
  const std::vector<std::string> words = absl::StrSplit(fields[0], ' ');
  if (words.size() < 4 || words[0] != "hpc-train" || words[1] != "1") return std::nullopt;
  WatchRequest request = {.secret = words[2]};
  if (words[3] == "ask" && words.size() == 4 && fields.size() == 1) return request;
  int rank = 0;
  if (words[3] == "stay" && words.size() == 5 && fields.size() == 1 &&
      absl::SimpleAtoi(words[4], &rank) && rank >= 0) {
    request.stay = rank;
    return request;
  }
  if (words[3] != "tell" || words.size() != 5 || fields.size() != 2) return std::nullopt;
  std::optional<std::vector<int>> missing = ParseRankList(words[4]);
  if (!missing) return std::nullopt;
  request.verdict = Verdict{.missing = *missing, .reason = OneLine(fields[1])};
  return request;
}

std::optional<RankStatus> DecodeStatus(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, '\t');
  const std::vector<std::string> words = absl::StrSplit(fields[0], ' ');
  int64_t ago_ms = 0;
  RankStatus status;
  if (fields.size() != 3 || words.size() != 5 || words[0] != "status" ||
      !absl::SimpleAtoi(words[1], &status.entered.number) || !absl::SimpleAtoi(words[2], &ago_ms) ||
      ago_ms < 0) {
    return std::nullopt;
  }
  status.entered.what = OneLine(fields[1]);
  status.ago = std::chrono::milliseconds(ago_ms);
  std::optional<std::vector<int>> missing = ParseRankList(words[4]);
  if (!missing || (words[3] != "0" && words[3] != "1")) return std::nullopt;
  if (words[3] == "1") status.verdict = Verdict{.missing = *missing, .reason = OneLine(fields[2])};
  return status;
}

}  // namespace hpc::train

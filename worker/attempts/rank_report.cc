#include "worker/attempts/rank_report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "worker/core/rank_environment.h"
#include "worker/supervisor_client/foreign_file.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

constexpr size_t kMaxTraceback = 4 * kMaxWords;

std::string Text(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string Cut(std::string text, size_t bytes) {
  // What matters is the end of a traceback.
  if (text.size() > bytes) text.erase(0, text.size() - bytes);
  return text;
}

}  // namespace

std::optional<RankReport> ParseErrorFile(absl::string_view text) {
  const json root = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return std::nullopt;
  const auto message = root.find("message");
  if (message == root.end()) return std::nullopt;
  if (message->is_string()) return RankReport{Cut(message->get<std::string>(), kMaxWords), ""};
  if (!message->is_object()) return std::nullopt;
  RankReport report{Cut(Text(*message, "message"), kMaxWords), ""};
  const auto extra = message->find("extraInfo");
  if (extra != message->end() && extra->is_object()) {
    report.traceback = Cut(Text(*extra, "py_callstack"), kMaxTraceback);
  }
  return report;
}

std::string LastLines(absl::string_view text, int lines, size_t bytes) {
  text = absl::StripTrailingAsciiWhitespace(text);
  size_t begin = text.size();
  for (int i = 0; i < lines && begin != 0; ++i) {
    const size_t newline = begin == 0 ? absl::string_view::npos : text.rfind('\n', begin - 1);
    begin = newline == absl::string_view::npos ? 0 : newline;
  }
  text.remove_prefix(begin);
  absl::ConsumePrefix(&text, "\n");
  if (text.size() > bytes) text.remove_prefix(text.size() - bytes);
  return std::string(text);
}

std::optional<RankReport> ReadErrorFile(const std::string& attempt_dir, int32_t rank) {
  const auto text = ReadForeignFile(ErrorFile(attempt_dir, rank), kMaxErrorFile);
  return text.ok() ? ParseErrorFile(*text) : std::nullopt;
}

std::string ReadStderrEnd(const std::string& attempt_dir, int32_t rank) {
  const auto fd = OpenForeignFile(OutputFile(attempt_dir, rank, true));
  struct stat info;
  if (!fd.ok() || fstat(fd->get(), &info) != 0) return "";
  std::string tail(std::min<size_t>(kMaxTraceback, static_cast<size_t>(info.st_size)), '\0');
  const ssize_t n =
      pread(fd->get(), tail.data(), tail.size(), info.st_size - static_cast<off_t>(tail.size()));
  tail.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return tail;
}

}  // namespace hpc::worker

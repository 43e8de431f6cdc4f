#include "worker/supervisor/protocol/recall.h"

#include <charconv>

namespace hpc::worker {
namespace {

constexpr char kWord[] = "hpc-recall ";

// Compares in a time that does not reveal how much of the secret is right.
bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differences == 0;
}

}  // namespace

std::string RecallQuestion(const std::string& key, int64_t grace_ms) {
  return kWord + key + " " + std::to_string(grace_ms) + "\n";
}

std::optional<int64_t> ParseRecallQuestion(const std::string& line, const std::string& key) {
  const size_t word = sizeof kWord - 1;
  if (key.size() != kRecallDigits || line.size() > kMaxRecallQuestion) return std::nullopt;
  if (line.compare(0, word, kWord) != 0 || line.size() < word + kRecallDigits + 3) {
    return std::nullopt;
  }
  if (!SameSecret(line.substr(word, kRecallDigits), key)) return std::nullopt;
  if (line[word + kRecallDigits] != ' ' || line.back() != '\n') return std::nullopt;
  const char* const begin = line.data() + word + kRecallDigits + 1;
  const char* const end = line.data() + line.size() - 1;
  int64_t grace_ms = 0;
  const auto [stop, error] = std::from_chars(begin, end, grace_ms);
  if (error != std::errc() || stop != end || grace_ms < 0) return std::nullopt;
  return grace_ms;
}

std::string RecallAnswer(const std::string& proof) { return proof + "\n"; }

}  // namespace hpc::worker

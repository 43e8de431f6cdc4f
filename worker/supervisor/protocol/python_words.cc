#include "worker/supervisor/protocol/python_words.h"

#include <string_view>

namespace hpc::worker {
namespace {

// Options that may be told in one word, as -uB.
constexpr std::string_view kFlags = "uBObqdv";

bool AreFlags(std::string_view letters) {
  return !letters.empty() && letters.find_first_not_of(kFlags) == std::string_view::npos;
}

}  // namespace

size_t WordsOfPython(const std::vector<std::string>& argv) {
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word == "-m" || word == "-c") return i + 1 < argv.size() ? i + 2 : 0;
    if (word == "-W" || word == "-X") {
      ++i;
    } else if (word.empty() || word == "-") {
      return 0;
    } else if (word[0] != '-') {
      return i + 1;
    } else if (!AreFlags(word.substr(1)) && word.substr(0, 2) != "-W" &&
               word.substr(0, 2) != "-X") {
      return 0;
    }
  }
  return 0;
}

}  // namespace hpc::worker

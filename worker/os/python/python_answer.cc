#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/text.h"
#include "worker/os/python/python_facts.h"

namespace hpc::worker {

PythonAnswer ParsePythonAnswer(absl::string_view output) {
  PythonAnswer answer;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, '\t');
    if (words[0] != "hpc-worker") continue;
    if (words.size() == 4 && words[1] == "fact") {
      answer.facts.facts.emplace_back(std::string(words[2]), ToValidUtf8(words[3]));
      if (words[2] == "torch") answer.facts.has_torch = true;
    } else if (words.size() == 3 && words[1] == "store-client") {
      answer.facts.store_client_ok = words[2] == "yes";
    } else if (words.size() == 3 && words[1] == "watch") {
      answer.watched.emplace_back(words[2]);
    }
  }
  return answer;
}

}  // namespace hpc::worker

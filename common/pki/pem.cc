#include "common/pki/pem.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace hpc::pki {

std::vector<absl::string_view> PemBlocks(absl::string_view text, absl::string_view label) {
  const std::string begin = absl::StrCat("-----BEGIN ", label, "-----");
  const std::string end = absl::StrCat("-----END ", label, "-----");
  std::vector<absl::string_view> blocks;
  while (true) {
    const size_t from = text.find(begin);
    if (from == absl::string_view::npos) return blocks;
    size_t to = text.find(end, from);
    if (to == absl::string_view::npos) return blocks;
    to += end.size();
    if (to < text.size() && text[to] == '\n') ++to;
    blocks.push_back(text.substr(from, to - from));
    text.remove_prefix(to);
  }
}

}  // namespace hpc::pki

#include "client/cli/follow/line_labeller.h"

#include <algorithm>

namespace hpc::client {
namespace {
constexpr size_t kMaxLine = 64 << 10;
}  // namespace

std::string LineLabeller::Add(const StreamId& stream, absl::string_view label,
                              absl::string_view data) {
  Partial& partial = partial_[stream];
  partial.label = std::string(label);
  if (label.empty()) return AddPlain(data, &partial);
  std::string out;
  const auto end_line = [&] {
    out += partial.label;
    out += partial.text;
    out += '\n';
    partial.text.clear();
  };
  if (partial.after_return && !data.empty()) {
    if (data[0] == '\n') data.remove_prefix(1);
    partial.after_return = false;
  }
  while (!data.empty()) {
    const size_t room = kMaxLine - partial.text.size();
    const size_t end = data.find_first_of("\r\n");
    const size_t take = std::min({end, room, data.size()});
    partial.text.append(data.data(), take);
    data.remove_prefix(take);
    if (take < end) {
      if (partial.text.size() == kMaxLine) end_line();
      continue;
    }
    const bool is_return = data[0] == '\r';
    data.remove_prefix(1);
    // Many progress bars begin with "\r", and then no line has ended.
    if (is_return && partial.text.empty()) continue;
    end_line();
    if (is_return && data.empty()) partial.after_return = true;
    if (is_return && !data.empty() && data[0] == '\n') data.remove_prefix(1);
  }
  return out;
}

std::string LineLabeller::AddPlain(absl::string_view data, Partial* partial) {
  std::string out;
  const size_t end = data.find_last_of("\r\n");
  const size_t whole = end == absl::string_view::npos ? 0 : end + 1;
  if (whole > 0) {
    out.swap(partial->text);
    out.append(data.data(), whole);
  }
  partial->text.append(data.data() + whole, data.size() - whole);
  if (partial->text.size() > kMaxLine) {
    out += partial->text;
    partial->text.clear();
  }
  return out;
}

}  // namespace hpc::client

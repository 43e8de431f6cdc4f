#include "client/cli/forms/listing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/forms/output.h"
#include "client/cli/forms/times.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr int32_t kWidest = (1 << 23) - 1;  // the most that a Cell can hold

bool ContinuesSequence(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

int32_t DisplayWidth(absl::string_view text) {
  return static_cast<int32_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !ContinuesSequence(c); }));
}

absl::string_view FirstColumns(absl::string_view text, int32_t columns) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!ContinuesSequence(text[end]) && columns-- == 0) break;
  }
  return text.substr(0, end);
}

ListingForm FormFor(const Output& out, bool json, int64_t now_us) {
  return {json, out.colours(), out.width(), now_us};
}

Listing::Listing(std::vector<Column> columns, const ListingForm& form)
    : columns_(std::move(columns)), form_(form) {
  if (form_.json) {
    for (Column& column : columns_) column.key = JsonWriter::Written(column.key);
    json_.BeginArray();
    return;
  }
  for (const Column& column : columns_) {
    if (column.title.empty()) continue;
    widths_.push_back(0);
    AddCell(column.title, DisplayWidth(column.title), Colour::kStrong);
  }
}

bool Listing::BeginJson() {
  if (!form_.json) return false;
  if (column_ == 0) {
    json_.NewLine();
    json_.BeginObject();
  }
  json_.WrittenKey(columns_[column_++].key);
  return true;
}

void Listing::AddCell(absl::string_view text, int32_t width, Colour colour) {
  text_.append(text.data(), text.size());
  width = std::min(width, kWidest);
  int32_t& widest = widths_[cells_.size() % widths_.size()];
  widest = std::max(widest, width);
  Cell& cell = cells_.emplace_back();
  cell.bytes = static_cast<uint32_t>(text.size());
  cell.width = width;
  cell.colour = colour;
}

Listing& Listing::Show(absl::string_view text, Colour colour) {
  const bool shown = Shown();
  ++column_;
  if (!shown) return *this;
  if (text.empty()) {
    AddCell("-", 1, colour);
  } else if (IsPlain(text)) {
    AddCell(text, static_cast<int32_t>(text.size()), colour);
  } else {
    const std::string line = OneLine(text);
    AddCell(line, DisplayWidth(line), colour);
  }
  return *this;
}

Listing& Listing::Text(absl::string_view text, Colour colour) {
  if (!BeginJson()) return Show(text, colour);
  json_.String(text);
  return *this;
}

Listing& Listing::Both(absl::string_view shown, absl::string_view json, Colour colour) {
  if (!BeginJson()) return Show(shown, colour);
  json_.String(json);
  return *this;
}

Listing& Listing::Integer(int64_t value) {
  if (!BeginJson()) return Show(absl::AlphaNum(value).Piece(), Colour::kNone);
  json_.Integer(value);
  return *this;
}

Listing& Listing::Real(double value) {
  if (!BeginJson()) return Show(absl::AlphaNum(value).Piece(), Colour::kNone);
  json_.Real(value);
  return *this;
}

Listing& Listing::Bool(bool value) {
  if (!BeginJson()) return Show(value ? "yes" : "-", Colour::kNone);
  json_.Bool(value);
  return *this;
}

Listing& Listing::Time(int64_t us) {
  if (!BeginJson()) return Show(Shown() ? Ago(us, form_.now_us) : "", Colour::kNone);
  json_.Time(us);
  return *this;
}

Listing& Listing::Span(int64_t start_us, int64_t end_us) {
  if (!BeginJson()) return Show(Took(start_us, end_us, form_.now_us), Colour::kNone);
  if (start_us == 0) {
    json_.Null();
  } else {
    json_.Integer((end_us == 0 ? form_.now_us : end_us) - start_us);
  }
  return *this;
}

Listing& Listing::TableOnly(absl::string_view text) {
  if (!form_.json) return Show(text, Colour::kNone);
  ++column_;
  return *this;
}

Listing& Listing::Bytes(int64_t bytes) {
  if (!BeginJson()) return Show(HumanBytes(static_cast<uint64_t>(bytes)), Colour::kNone);
  json_.Integer(bytes);
  return *this;
}

Listing& Listing::None() {
  if (!BeginJson()) return Show("-", Colour::kNone);
  json_.Null();
  return *this;
}

void Listing::EndRow() {
  if (form_.json) json_.EndObject();
  column_ = 0;
  ++rows_;
}

void Listing::SpillTo(absl::FunctionRef<void(absl::string_view)> write) {
  if (json_.text().size() < kPieceBytes) return;
  write(json_.text());
  json_.Clear();
}

std::string Listing::Finish() {
  std::string all;
  FinishTo([&all](absl::string_view piece) { all.append(piece.data(), piece.size()); });
  return all;
}

void Listing::FinishTo(absl::FunctionRef<void(absl::string_view)> write) {
  if (!form_.json) return FinishTable(write);
  json_.NewLine();
  json_.EndArray();
  write(json_.text());
  json_.Clear();
  write("\n");
}

void Listing::FinishTable(absl::FunctionRef<void(absl::string_view)> write) const {
  std::string piece;
  absl::string_view text = text_;
  for (size_t first = 0; first < cells_.size(); first += widths_.size()) {
    text.remove_prefix(AppendRow(first, text, &piece));
    if (piece.size() < kPieceBytes) continue;
    write(piece);
    piece.clear();
  }
  write(piece);
}

size_t Listing::AppendRow(size_t first_cell, absl::string_view text, std::string* out) const {
  size_t begin = 0;
  int32_t used = 0;
  for (size_t i = 0; i < widths_.size(); ++i) {
    const Cell& cell = cells_[first_cell + i];
    absl::string_view shown = text.substr(begin, cell.bytes);
    begin += cell.bytes;
    const bool last = i + 1 == widths_.size();
    const int32_t room = std::max(8, form_.width - used);
    const bool cut = last && form_.width > 0 && cell.width > room;
    if (cut) shown = FirstColumns(shown, room - 1);
    const bool coloured = form_.colours && cell.colour != Colour::kNone;
    if (coloured) out->append(Begin(cell.colour).data(), Begin(cell.colour).size());
    out->append(shown.data(), shown.size());
    if (cut) *out += "…";
    if (coloured) out->append(kEndColour.data(), kEndColour.size());
    if (!last) out->append(static_cast<size_t>(widths_[i] - cell.width) + 2, ' ');
    used += widths_[i] + 2;
  }
  *out += '\n';
  return begin;
}

}  // namespace hpc::client

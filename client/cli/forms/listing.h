// Rows, shown as an aligned table or as JSON. One declaration of columns and one pass over the rows
// serve both, so that the two cannot differ. Pure.
//
//   Listing nodes({{"name", "NAME"}, {"last_seen", "SEEN"}, {"kernel", ""}}, form);
//   nodes.Text(node.name()).Time(node.last_seen_us()).Text(node.inventory().kernel()).EndRow();
//
// A column without a title is in JSON only. One without a key is in tables only (TableOnly).
#ifndef HPC_CLIENT_CLI_FORMS_LISTING_H_
#define HPC_CLIENT_CLI_FORMS_LISTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "client/cli/forms/colours.h"
#include "client/cli/forms/json_writer.h"

namespace hpc::client {

class Output;

struct Column {
  std::string key;    // in the JSON object
  std::string title;  // in the table
};

struct ListingForm {
  bool json = false;
  bool colours = false;
  int width = 0;       // the last column is cut to it; 0: never cut
  int64_t now_us = 0;  // the time that ages are counted from
};

// Returns the form that suits what `out` is connected to.
ListingForm FormFor(const Output& out, bool json, int64_t now_us);

class Listing {
 public:
  Listing(std::vector<Column> columns, const ListingForm& form);

  // Make one call for each column, in order, and then call EndRow.
  Listing& Text(absl::string_view text, Colour colour = Colour::kNone);
  Listing& Integer(int64_t value);
  Listing& Real(double value);
  Listing& Bool(bool value);  // "yes" or "-"
  Listing& Time(int64_t us);  // an age in a table
  // Shows the time between two moments: as microseconds in JSON, as "4 min 10 s" in a table. An end
  // of 0 means now.
  Listing& Span(int64_t start_us, int64_t end_us);
  Listing& Bytes(int64_t bytes);  // "12 GiB" in a table
  template <typename Strings>
  Listing& Items(const Strings& items);  // "a,b" in a table
  Listing& None();                       // "-" in a table, null in JSON
  // Fills a column without a key, which must not be the first.
  Listing& TableOnly(absl::string_view text);
  // Shows a JSON string, and another text in its place in a table.
  Listing& Both(absl::string_view shown, absl::string_view json, Colour colour = Colour::kNone);
  // Fills a column that is in JSON only with a value that has parts of its own:
  // `write(JsonWriter*)`.
  template <typename Write>
  Listing& Nested(Write write);
  void EndRow();

  bool empty() const { return rows_ == 0; }
  bool json() const { return form_.json; }
  // Writes the rows that are finished already, if they are a good deal. It writes nothing of a
  // table, since its widths are not known yet.
  void SpillTo(absl::FunctionRef<void(absl::string_view)> write);
  // Returns the rest, or all: the table (title line first) or JSON array (one row a line), with a
  // line end.
  std::string Finish();
  // Writes the same in pieces, so that a long one need not be held as a whole.
  void FinishTo(absl::FunctionRef<void(absl::string_view)> write);

 private:
  // A cell is small, because there are about ten for each row.
  struct Cell {
    uint32_t bytes;  // its size in text_, where it follows the cell before it
    int32_t width : 24;
    Colour colour : 8;
  };
  bool BeginJson();  // begins a cell; false: its table form is wanted
  bool Shown() const { return !columns_[column_].title.empty(); }
  Listing& Show(absl::string_view text, Colour colour);
  void AddCell(absl::string_view text, int32_t width, Colour colour);
  void FinishTable(absl::FunctionRef<void(absl::string_view)> write) const;
  // `text` begins with the text of that row. Returns how much of `text` belongs to the row.
  size_t AppendRow(size_t first_cell, absl::string_view text, std::string* out) const;

  std::vector<Column> columns_;  // for JSON, the key is in its written form
  ListingForm form_;
  size_t column_ = 0;
  size_t rows_ = 0;
  JsonWriter json_;
  std::string text_;  // the texts of all cells of a table, one after the other
  std::vector<Cell> cells_;
  std::vector<int32_t> widths_;
};

template <typename Strings>
Listing& Listing::Items(const Strings& items) {
  if (!BeginJson()) return Show(absl::StrJoin(items, ","), Colour::kNone);
  json_.BeginArray();
  for (const auto& item : items) json_.String(item);
  json_.EndArray();
  return *this;
}

template <typename Write>
Listing& Listing::Nested(Write write) {
  if (!BeginJson()) return Show("", Colour::kNone);
  write(&json_);
  return *this;
}

// Returns how many columns `text` takes on a terminal, one for each code point.
int32_t DisplayWidth(absl::string_view text);

// Returns as much of `text` as fits into `columns` columns.
absl::string_view FirstColumns(absl::string_view text, int32_t columns);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_LISTING_H_

#include "train/checkpoint/checkpoint_sending.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "train/group/agreement.h"
#include "train/group/reason.h"

namespace hpc::train {
namespace {

constexpr int64_t kSendAtOnce = 16 << 20;
constexpr char kFault = '!';  // begins a rank's message that says why it cannot

// Reads the bytes of `pieces`, one after the other.
class PieceReader {
 public:
  explicit PieceReader(std::vector<absl::string_view> pieces) : pieces_(std::move(pieces)) {}

  void Read(char* to, size_t count) {
    while (count > 0) {
      absl::string_view& piece = pieces_[at_];
      const size_t taken = std::min(count, piece.size());
      std::memcpy(to, piece.data(), taken);
      piece.remove_prefix(taken);
      to += taken;
      count -= taken;
      if (piece.empty()) ++at_;
    }
  }

 private:
  std::vector<absl::string_view> pieces_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::string> AllOrNone(Communicator& group, const std::string& what,
                                   const std::function<std::string()>& act) {
  std::string mine;
  try {
    mine = " " + act();
  } catch (const CollectiveError&) {
    throw;
  } catch (const std::exception& error) {
    mine = kFault + ReasonOf(error);
  }
  std::vector<std::string> texts = GatherTexts(group, mine);
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank][0] == kFault) {
      throw CheckpointError(absl::StrCat(what, "rank ", group.NumberOf(static_cast<int>(rank)),
                                         ": ", texts[rank].substr(1)));
    }
    texts[rank].erase(0, 1);
  }
  return texts;
}

void Distribute(Communicator& group, int owner, const std::vector<absl::string_view>& pieces,
                const std::function<void(absl::string_view)>& take) {
  at::Tensor size = at::zeros({1}, at::kLong);
  for (absl::string_view piece : pieces) size += static_cast<int64_t>(piece.size());
  group.Broadcast(size, owner, {"size of a file", {}})->Wait();
  int64_t left = size.item<int64_t>();
  const at::Tensor buffer = at::empty({std::min(left, kSendAtOnce)}, at::kByte);
  PieceReader reader(pieces);
  while (left > 0) {
    const int64_t count = std::min(left, kSendAtOnce);
    const at::Tensor part = buffer.narrow(0, 0, count);
    char* const bytes = static_cast<char*>(part.data_ptr());
    if (group.rank() == owner) reader.Read(bytes, count);
    group.Broadcast(part, owner, {"a part of a file", {}})->Wait();
    take({bytes, static_cast<size_t>(count)});
    left -= count;
  }
}

CheckpointSink::CheckpointSink(bool writes, const std::string& folder, const std::string& name) {
  if (writes) Try([&] { writer_ = std::make_unique<CheckpointFileWriter>(folder, name); });
}

void CheckpointSink::Write(absl::string_view bytes) {
  if (writer_ != nullptr) Try([&] { writer_->Write(bytes); });
}

std::optional<CheckpointFile> CheckpointSink::Commit() {
  std::optional<CheckpointFile> file;
  if (writer_ != nullptr) Try([&] { file = writer_->Commit(); });
  return file;
}

void CheckpointSink::Try(const std::function<void()>& act) {
  try {
    act();
  } catch (const CheckpointError& error) {
    fault_ = error.what();
    writer_.reset();
  }
}

std::string EncodeFile(const CheckpointFile& file) {
  return absl::StrCat(file.name, " ", file.bytes, " ", file.sha256, "\n");
}

std::vector<CheckpointFile> DecodeFiles(const std::vector<std::string>& texts) {
  std::vector<CheckpointFile> files;
  for (const std::string& text : texts) {
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      CheckpointFile file = {.name = words.at(0), .sha256 = words.at(2)};
      if (!absl::SimpleAtoi(words[1], &file.bytes)) throw CheckpointError("a rank says " + text);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace hpc::train

// The task "charlm": a GPT of bytes, on any text.
#include <ATen/ATen.h>
#include <sys/stat.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/data/data_error.h"
#include "train/data/mapped_file.h"
#include "train/parallel/recompute.h"
#include "train/program/task.h"
#include "train/tensors/tensor_text.h"

namespace hpc::train {
namespace {

namespace nn = torch::nn;

constexpr int64_t kBytes = 256;         // the number of values of a character
constexpr double kTestTextShare = 0.1;  // the end of the text, for tests
constexpr int64_t kTestWindows = 2000;  // at most so many

// Cuts a text into pieces of `context` + 1 bytes, in which each byte but the first must be
// predicted. Pieces share their end bytes, but do not overlap otherwise.
class Windows : public DataSet {
 public:
  Windows(std::shared_ptr<const MappedFile> file, int64_t begin, int64_t end, int64_t context,
          int64_t most)
      : file_(std::move(file)),
        begin_(begin),
        context_(context),
        count_(std::min(most, std::max<int64_t>(0, (end - begin - 1) / context))) {}

  int64_t size() const override { return count_; }
  Batch Get(const std::vector<int64_t>& indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    at::Tensor bytes = at::empty({count, context_ + 1}, at::kByte);
    auto* to = bytes.data_ptr<uint8_t>();
    for (int64_t index : indices) {
      std::memcpy(to, file_->bytes().data() + begin_ + index * context_, context_ + 1);
      to += context_ + 1;
    }
    const at::Tensor codes = bytes.to(at::kLong);
    return {codes.narrow(1, 0, context_).contiguous(), codes.narrow(1, 1, context_).contiguous()};
  }
  std::string Fingerprint() const override {
    const auto size = static_cast<int64_t>(file_->bytes().size());
    const at::Tensor all =
        at::from_blob(const_cast<char*>(file_->bytes().data()), {size}, at::kByte);
    return absl::StrCat(FingerprintOf(all), ", ", count_, " windows of ", context_, " from ",
                        begin_);
  }

 private:
  const std::shared_ptr<const MappedFile> file_;
  const int64_t begin_, context_, count_;
};

// LibTorch's own linear layer in C++ multiplies and adds in two operations, where PyTorch in Python
// has one.
at::Tensor Apply(const nn::Linear& layer, const at::Tensor& x) {
  return at::linear(x, layer->weight, layer->bias);
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t width, int64_t heads, double dropout)
      : heads_(heads),
        before_attention(
            register_module("before_attention", nn::LayerNorm(nn::LayerNormOptions({width})))),
        query_key_value(register_module("query_key_value", nn::Linear(width, 3 * width))),
        attended(register_module("attended", nn::Linear(width, width))),
        before_layers(
            register_module("before_layers", nn::LayerNorm(nn::LayerNormOptions({width})))),
        wide(register_module("wide", nn::Linear(width, 4 * width))),
        narrow(register_module("narrow", nn::Linear(4 * width, width))),
        dropout_(dropout) {}

  at::Tensor forward(const at::Tensor& x) {
    const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
    const auto parts = Apply(query_key_value, before_attention(x))
                           .view({batch, length, 3, heads_, width / heads_})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const at::Tensor mixed =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {},
                                         is_training() ? dropout_ : 0, /*is_causal=*/true)
            .transpose(1, 2)
            .reshape({batch, length, width});
    const at::Tensor h = x + at::dropout(Apply(attended, mixed), dropout_, is_training());
    const at::Tensor more = Apply(narrow, at::gelu(Apply(wide, before_layers(h))));
    return h + at::dropout(more, dropout_, is_training());
  }

  const int64_t heads_;
  nn::LayerNorm before_attention;
  nn::Linear query_key_value, attended;
  nn::LayerNorm before_layers;
  nn::Linear wide, narrow;
  const double dropout_;
};
TORCH_MODULE(Block);

struct GptImpl : nn::Module {
  explicit GptImpl(const TrainOptions& options)
      : recompute_(options.recompute),
        bytes(register_module("bytes", nn::Embedding(kBytes, options.width))),
        places(register_module("places", nn::Embedding(options.context, options.width))),
        last(register_module("last", nn::LayerNorm(nn::LayerNormOptions({options.width})))),
        head(register_module("head",
                             nn::Linear(nn::LinearOptions(options.width, kBytes).bias(false)))) {
    at::NoGradGuard no_grad;
    bytes->weight.normal_(0, 0.02);
    places->weight.normal_(0, 0.02);
    head->weight.normal_(0, 0.02);
    for (int64_t i = 0; i < options.depth; ++i) {
      blocks.push_back(register_module(absl::StrCat("block", i),
                                       Block(options.width, options.heads, options.dropout)));
      for (nn::Linear layer : {blocks.back()->attended, blocks.back()->narrow}) {
        layer->weight.normal_(0, 0.02 / std::sqrt(2 * static_cast<double>(options.depth)));
        layer->bias.zero_();
      }
    }
  }

  at::Tensor forward(const at::Tensor& codes) {
    at::Tensor h = bytes(codes) + places->weight.narrow(0, 0, codes.size(1));
    for (const Block& block : blocks) {
      auto part = [impl = block.ptr()](const at::Tensor& x) { return impl->forward(x); };
      h = recompute_ ? Recompute(part, h) : part(h);
    }
    return Apply(head, last(h));
  }

  const bool recompute_;
  nn::Embedding bytes, places;
  std::vector<Block> blocks;
  nn::LayerNorm last;
  nn::Linear head;
};
TORCH_MODULE(Gpt);

class Charlm : public Task {
 public:
  explicit Charlm(const TrainOptions& options) : options_(options) {
    struct stat status {};
    if (stat(options.data.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      throw DataError(options.data +
                      ": it is a folder, and --data of charlm has to be a text file");
    }
    const auto file = MappedFile::Open(options.data);
    const auto size = static_cast<int64_t>(file->bytes().size());
    const int64_t end = size - static_cast<int64_t>(static_cast<double>(size) * kTestTextShare);
    training_ = std::make_shared<Windows>(file, 0, end, options.context, INT64_MAX);
    test_ = std::make_shared<Windows>(file, end, size, options.context, kTestWindows);
    if (training_->size() == 0) {
      throw DataError(absl::StrCat(options.data, ": it has ", size,
                                   " bytes, too few for --context ", options.context));
    }
  }

  std::shared_ptr<const DataSet> TrainingData() override { return training_; }
  std::shared_ptr<const DataSet> TestData() override { return test_->size() > 0 ? test_ : nullptr; }
  std::unique_ptr<Model> MakeModel() override { return MakeModuleModel(Gpt(options_)); }
  std::map<std::string, std::string> ModelTraits() override {
    if (!options_.model.empty()) return {};
    return {{"heads", absl::StrCat(options_.heads)}};
  }
  void CheckOutput(const at::Tensor& output, const Batch& batch) override {
    const int64_t samples = batch[0].size(0), length = batch[0].size(1);
    if (output.sizes() == at::IntArrayRef({samples, length, kBytes})) return;
    throw std::runtime_error(absl::StrCat(options_.model, " gives ", TensorText(output), " where [",
                                          samples, ", ", length, ", ", kBytes,
                                          "] is needed: a number for each byte that may be next"));
  }
  at::Tensor Loss(const at::Tensor& output, const Batch& batch) override {
    return at::cross_entropy_loss(output.to(at::kFloat).flatten(0, 1), batch[1].flatten());
  }
  std::map<std::string, double> Judge(const at::Tensor& output, const Batch& batch) override {
    const double loss = Loss(output, batch).item<double>();
    return {{"bits_per_byte", loss / std::log(2.0) * static_cast<double>(batch[0].size(0))}};
  }

 private:
  const TrainOptions options_;
  std::shared_ptr<Windows> training_, test_;
};

void CheckOptionsOfText(const TrainOptions& options) {
  if (options.width % options.heads != 0 && options.model.empty()) {
    throw UsageError(
        absl::StrCat("--width ", options.width, " is no multiple of --heads ", options.heads));
  }
  if (options.dropout >= 1) {
    throw UsageError(absl::StrCat("--dropout ", options.dropout,
                                  " leaves nothing: it is a share, of 0 to less than 1"));
  }
  if (options.data.empty()) throw UsageError("charlm needs --data: a text file");
}

}  // namespace

TaskEntry CharlmTask() {
  return {"charlm",
          "a GPT that foretells the next byte of a text (--data FILE)",
          [](const TrainOptions& options) { return std::make_unique<Charlm>(options); },
          [](TrainOptions* options) {
            options->batch = 32;
            options->epochs = 1;
          },
          CheckOptionsOfText,
          {"task-options"}};
}

}  // namespace hpc::train

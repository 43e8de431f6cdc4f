// Tasks of small pictures and what they show: handwritten digits, or any others of one size.
#include <ATen/ATen.h>
#include <sys/stat.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/data/array_file.h"
#include "train/data/array_header.h"
#include "train/data/distributed_sampler.h"
#include "train/data/mapped_file.h"
#include "train/program/task.h"
#include "train/tensors/tensor_text.h"
#include "train/tool/resnet.h"

namespace hpc::train {
namespace {

constexpr int64_t kMostClasses = 100000;  // more are a mistake, and would not fit into memory
constexpr char kWhatDataAre[] =
    "a folder with images.npy and labels.npy (examples/digits_data.py makes one), or with the "
    "files of MNIST, or a safetensors file with images and labels";
// Part of the images that is for tests if there are no others.
constexpr double kTestPictureShare = 0.2;

bool IsFolder(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}
bool Exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

struct Pictures {
  at::Tensor images, labels;
  std::string images_name, labels_name;  // errors call them by these names
};

bool IsNumberOfChannels(int64_t count) { return count == 1 || count == 3 || count == 4; }

// Most picture files have colours last. Their number would be taken for the pictures' width.
void CheckOrder(const Pictures& pictures) {
  const at::Tensor& images = pictures.images;
  if (images.dim() != 4 || !IsNumberOfChannels(images.size(3)) ||
      IsNumberOfChannels(images.size(1))) {
    return;
  }
  throw DataError(absl::StrCat(
      pictures.images_name, ": its shape is ", TensorText(images),
      ", as of [images, height, width, channels]; it is to be [images, channels, height, width]: "
      "save numpy.ascontiguousarray(images.transpose(0, 3, 1, 2))"));
}

Pictures OpenPictures(const std::string& images, const std::string& labels) {
  Pictures pictures = {.images_name = images, .labels_name = labels};
  pictures.images = OpenArray(images, {.types = {at::kByte, at::kFloat, at::kDouble, at::kHalf}});
  if (pictures.images.dim() != 3 && pictures.images.dim() != 4) {
    throw DataError(absl::StrCat(images, ": it has ", pictures.images.dim(),
                                 " dimensions where [images, height, width] or ",
                                 "[images, channels, height, width] is needed"));
  }
  CheckOrder(pictures);
  if (pictures.images.size(-1) < 2 || pictures.images.size(-2) < 2 || pictures.images.size(1) < 1) {
    throw DataError(absl::StrCat(images, ": its shape is ", TensorText(pictures.images),
                                 "; pictures have 2 x 2 points and a channel at least"));
  }
  pictures.labels = OpenArray(labels, {.types = {at::kByte, at::kInt, at::kLong, at::kChar},
                                       .shape = {pictures.images.size(0)}});
  return pictures;
}

// `layers` is the number of layers of a ResNet; 0: a small net.
class PictureTask : public Task {
 public:
  PictureTask(const TrainOptions& options, int layers) : options_(options), layers_(layers) {
    Open();
  }

  std::shared_ptr<const DataSet> TrainingData() override { return training_; }
  std::shared_ptr<const DataSet> TestData() override { return test_; }

  std::unique_ptr<Model> MakeModel() override {
    namespace nn = torch::nn;
    const int64_t channels = images_.dim() == 4 ? images_.size(1) : 1;
    const int64_t classes = std::max<int64_t>(2, highest_ + 1);
    if (layers_ > 0) return MakeResnet(layers_, channels, classes);
    const int64_t rest = (images_.size(-2) / 2) * (images_.size(-1) / 2);
    return MakeModuleModel(nn::Sequential(
        nn::Conv2d(nn::Conv2dOptions(channels, 16, 3).padding(1)), nn::ReLU(),
        nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)), nn::ReLU(), nn::MaxPool2d(2),
        nn::Flatten(), nn::Linear(32 * rest, 64), nn::ReLU(), nn::Linear(64, classes)));
  }

  at::Tensor Input(const Batch& batch) override {
    at::Tensor images = batch[0].dim() == 3 ? batch[0].unsqueeze(1) : batch[0];
    if (images.scalar_type() == at::kByte) return images.to(at::kFloat).div_(255);
    return images.to(at::kFloat);
  }
  void CheckOutput(const at::Tensor& output, const Batch& batch) override {
    if (output.dim() != 2 || output.size(0) != batch[0].size(0)) {
      throw std::runtime_error(absl::StrCat(options_.model, " gives ", TensorText(output),
                                            " where [", batch[0].size(0), ", ", highest_ + 1,
                                            "] is needed: a number for each label of a picture"));
    }
    if (output.size(1) > highest_) return;
    throw std::runtime_error(absl::StrCat(options_.model, " gives ",
                                          Count(output.size(1), "number"),
                                          " a picture, and labels go up to ", highest_));
  }
  at::Tensor Loss(const at::Tensor& output, const Batch& batch) override {
    return at::cross_entropy_loss(output.to(at::kFloat), batch[1].to(at::kLong));
  }
  std::map<std::string, double> Judge(const at::Tensor& output, const Batch& batch) override {
    return {{"accuracy", output.argmax(1).eq(batch[1]).sum().item<double>()}};
  }

 private:
  void Open() {
    const std::string& data = options_.data;
    if (!IsFolder(data)) return OpenFile(data);
    for (const auto& [images, labels, test_images, test_labels] :
         {std::array<const char*, 4>{"images.npy", "labels.npy", "test-images.npy",
                                     "test-labels.npy"},
          std::array<const char*, 4>{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                     "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}}) {
      auto in = [&](const char* name) { return absl::StrCat(data, "/", name); };
      if (!Exists(in(images))) continue;
      const Pictures training = OpenPictures(in(images), in(labels));
      if (!Exists(in(test_images))) return Split(training);
      return Use(training, OpenPictures(in(test_images), in(test_labels)));
    }
    throw DataError(
        absl::StrCat(data, ": there is neither images.npy nor train-images-idx3-ubyte"));
  }

  // A safetensors file passes, since its own errors say more.
  static void CheckIsData(const std::string& data) {
    const auto file = MappedFile::Open(data);
    const absl::string_view bytes = file->bytes();
    if (bytes.size() > 8 && bytes[8] == '{') return;
    const bool is_array = LooksLikeNpy(bytes) || LooksLikeIdx(bytes);
    throw DataError(absl::StrCat(data, is_array ? ": it is one array" : ": it is no file of data",
                                 ", and --data has to be ", kWhatDataAre,
                                 is_array ? ": say its folder" : ""));
  }

  void OpenFile(const std::string& data) {
    if (!Exists(data)) throw DataError(absl::StrCat(data, ": there is no such file or folder"));
    auto in = [&](const char* name) { return absl::StrCat(data, ":", name); };
    CheckIsData(data);
    const Pictures training = OpenPictures(in("images"), in("labels"));
    if (!HasArray(in("test_images"))) return Split(training);
    Use(training, OpenPictures(in("test_images"), in("test_labels")));
  }

  // The split is the same for every number of ranks, and for every seed.
  void Split(const Pictures& all) {
    images_ = all.images;
    const int64_t count = all.images.size(0);
    if (count == 0) throw DataError(absl::StrCat(options_.data, ": there are no images in it"));
    DistributedSampler order(count, 0, 1, {.batch = count, .seed = 1});
    std::vector<int64_t> rows = order.Indices(0);
    const auto test = static_cast<int64_t>(static_cast<double>(count) * kTestPictureShare);
    test_ = std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{all.images, all.labels},
                                           std::vector<int64_t>(rows.end() - test, rows.end()));
    if (test == 0) test_ = nullptr;
    rows.resize(count - test);
    training_ = std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{all.images, all.labels},
                                               std::move(rows));
    highest_ = HighestLabel(all);
  }

  void Use(const Pictures& training, const Pictures& test) {
    images_ = training.images;
    if (training.images.size(0) == 0) {
      throw DataError(absl::StrCat(options_.data, ": there are no images in it"));
    }
    training_ =
        std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{training.images, training.labels});
    highest_ = HighestLabel(training);
    if (test.images.size(0) == 0) return;
    CheckTest(test);
    test_ = std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{test.images, test.labels});
  }

  static int64_t HighestLabel(const Pictures& pictures) {
    const auto least = pictures.labels.min().item<int64_t>();
    const auto most = pictures.labels.max().item<int64_t>();
    if (least >= 0 && most < kMostClasses) return most;
    throw DataError(absl::StrCat(pictures.labels_name, ": a label is ", least < 0 ? least : most,
                                 "; they are to be 0 to ", kMostClasses - 1));
  }

  void CheckTest(const Pictures& test) const {
    const int64_t highest = HighestLabel(test);
    if (highest > highest_) {
      throw DataError(absl::StrCat(test.labels_name, ": a label is ", highest,
                                   ", and those of the training data go up to ", highest_));
    }
    if (test.images.sizes().slice(1) == images_.sizes().slice(1)) return;
    throw DataError(absl::StrCat(test.images_name, ": its pictures are ",
                                 TensorText(test.images[0]), " where those of the training are ",
                                 TensorText(images_[0]), ": they are to have the same shape"));
  }

  const TrainOptions options_;
  const int layers_;
  at::Tensor images_;
  int64_t highest_ = 0;  // the greatest of the labels
  std::shared_ptr<const DataSet> training_, test_;
};

void CheckOptionsOfPictures(const TrainOptions& options) {
  if (options.data.empty()) throw UsageError(absl::StrCat("it needs --data: ", kWhatDataAre));
}

const std::set<std::string>& UnusedForPictures() {
  static const auto* const kNames = new std::set<std::string>{
      "width", "depth", "heads", "context", "dropout", "recompute", "task-options"};
  return *kNames;
}

}  // namespace

TaskEntry DigitsTask() {
  return {"digits",
          "a small convolutional net on pictures of digits (--data FOLDER)",
          [](const TrainOptions& options) { return std::make_unique<PictureTask>(options, 0); },
          [](TrainOptions* options) { options->lr = 6e-3; },
          CheckOptionsOfPictures,
          UnusedForPictures()};
}

TaskEntry ResnetTask(int layers) {
  return {
      absl::StrCat("resnet", layers),
      absl::StrCat("ResNet-", layers, " on pictures of CIFAR's size (--data FOLDER)"),
      [=](const TrainOptions& options) { return std::make_unique<PictureTask>(options, layers); },
      [](TrainOptions* options) {
        options->optimizer = "sgd";
        options->lr = 0.1;
        options->weight_decay = 5e-4;
        options->schedule = "cosine";
      },
      CheckOptionsOfPictures,
      UnusedForPictures()};
}

}  // namespace hpc::train

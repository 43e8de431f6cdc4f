// A task of your own in one file: a net learns to tell two spirals apart.
//
//     ninja -C build/release example-spirals
//     build/release/bin/example-spirals --epochs 20                     alone
//     hpcctl run -N 4 -- /srv/hpcctl/bin/example-spirals --epochs 20    on four PCs
//
// All options of hpc-train work: --compression, --local-steps, --precision and the others.
#include <torch/torch.h>

#include "train/program/train_main.h"

namespace {

using hpc::train::ArrayDataSet;
using hpc::train::Batch;

// Returns points (x, y), and which spiral each lies on. All ranks get the same points, because the
// trainer has seeded torch's random numbers; the ranks compare their data.
std::shared_ptr<const ArrayDataSet> Points(int64_t count) {
  const torch::Tensor which = torch::randint(2, {count});
  const torch::Tensor turn = torch::rand({count}) * 6;
  const torch::Tensor angle = turn + which * M_PI;
  const torch::Tensor points = torch::stack({angle.cos(), angle.sin()}, 1) * turn.unsqueeze(1) / 6;
  return std::make_shared<ArrayDataSet>(
      std::vector<torch::Tensor>{points + torch::randn({count, 2}) * 0.02, which});
}

class Spirals : public hpc::train::Task {
 public:
  std::shared_ptr<const hpc::train::DataSet> TrainingData() override { return Points(4000); }
  std::shared_ptr<const hpc::train::DataSet> TestData() override { return Points(1000); }

  std::unique_ptr<hpc::train::Model> MakeModel() override {
    return hpc::train::MakeModuleModel(torch::nn::Sequential(
        torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64), torch::nn::Tanh(),
        torch::nn::Linear(64, 2)));
  }

  torch::Tensor Loss(const torch::Tensor& output, const Batch& batch) override {
    return torch::nn::functional::cross_entropy(output.to(torch::kFloat), batch[1]);
  }

  std::map<std::string, double> Judge(const torch::Tensor& output, const Batch& batch) override {
    return {{"accuracy", output.argmax(1).eq(batch[1]).sum().item<double>()}};
  }
};

}  // namespace

int main(int argc, char** argv) {
  return hpc::train::TrainMain(
      argc, argv,
      {{.name = "spirals",
        .help = "tells two spirals apart",
        .make = [](const hpc::train::TrainOptions&) { return std::make_unique<Spirals>(); },
        .unused = {"width", "depth", "heads", "context", "dropout", "recompute"}}});
}

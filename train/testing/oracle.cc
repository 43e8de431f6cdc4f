#include "train/testing/oracle.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace hpc::train {
namespace {

constexpr int64_t kBucketBytes = 2048;  // gives several buckets even in small models

c10::intrusive_ptr<c10d::ProcessGroup> MakeGroup(const LaunchEnvironment& environment) {
  c10d::TCPStoreOptions store_options;
  store_options.port = static_cast<uint16_t>(environment.master_port);
  auto store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, store_options);
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, environment.rank,
                                                          environment.world_size, options);
  auto group =
      c10::make_intrusive<c10d::ProcessGroup>(store, environment.rank, environment.world_size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group->setGroupName("oracle");
  return group;
}

std::vector<std::vector<size_t>> Buckets(const std::vector<at::Tensor>& parameters) {
  auto [buckets, limits] =
      c10d::compute_bucket_assignment_by_size(parameters, {kBucketBytes, kBucketBytes});
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

}  // namespace

struct Oracle::Parts {
  explicit Parts(const LaunchEnvironment& environment, const std::vector<at::Tensor>& parameters)
      : reducer(std::make_shared<c10d::Reducer>(
            parameters, Buckets(parameters), MakeGroup(environment),
            std::vector<bool>(parameters.size(), false), kBucketBytes,
            /*find_unused_parameters=*/true, /*gradient_as_bucket_view=*/false,
            std::unordered_map<size_t, std::string>(), kBucketBytes,
            /*skip_all_reduce_unused_params=*/false,
            /*use_python_reducer=*/false, std::vector<int64_t>())),
        logger(std::make_shared<c10d::Logger>(reducer)) {
    reducer->set_logger(logger);
  }

  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // without one it crashes when it finds unused parameters
};

Oracle::Oracle(const LaunchEnvironment& environment, std::vector<at::Tensor> parameters)
    : parts_(std::make_unique<Parts>(environment, parameters)) {}

Oracle::~Oracle() = default;

void Oracle::BeforeForward() {
  parts_->reducer->prepare_for_forward();
  parts_->reducer->rebuild_buckets();
}

void Oracle::AfterForward(const at::Tensor& output) {
  parts_->reducer->prepare_for_backward({output});
}

}  // namespace hpc::train

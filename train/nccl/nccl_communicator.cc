#include "train/nccl/nccl_communicator.h"

#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/group/agreement.h"
#include "train/group/lone_communicator.h"
#include "train/group/reason.h"
#include "train/nccl/accelerator_stream.h"
#include "train/nccl/nccl_channel.h"
#include "train/nccl/torch_cuda.h"
#include "train/tensors/tensor_check.h"

namespace hpc::train {
namespace {

using Milliseconds = std::chrono::milliseconds;

NcclOp OpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return NcclOp::kSum;
    case ReduceOp::kMin:
      return NcclOp::kMin;
    case ReduceOp::kMax:
      return NcclOp::kMax;
  }
  throw std::invalid_argument("no such ReduceOp");
}

NcclType TypeOf(const at::Tensor& tensor, const std::string& operation) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return NcclType::kFloat32;
    case at::kDouble:
      return NcclType::kFloat64;
    case at::kHalf:
      return NcclType::kFloat16;
    case at::kBFloat16:
      return NcclType::kBfloat16;
    case at::kChar:
      return NcclType::kInt8;
    case at::kByte:
      return NcclType::kUint8;
    case at::kInt:
      return NcclType::kInt32;
    case at::kLong:
      return NcclType::kInt64;
    default:
      throw std::invalid_argument(absl::StrCat(operation, ": ", TypeAndSize(tensor), " on ",
                                               tensor.device().str(),
                                               "; NCCL reduces float, double, half, bfloat16, "
                                               "int8, uint8, int32 and int64"));
  }
}

class NcclPending : public Pending {
 public:
  NcclPending(std::shared_ptr<WatchedGroup> group, std::shared_ptr<NcclOperation> operation)
      : group_(std::move(group)), operation_(std::move(operation)) {}

  void Wait() override {
    constexpr Milliseconds kStep{20};
    while (!followed_) {
      bool follows = false;
      try {
        follows = operation_->LetCurrentFollow(kStep);
      } catch (const std::exception& error) {
        throw group_->FailedHere(operation_->begun(), ReasonOf(error));
      }
      if (group_->verdict()) throw group_->Failed(operation_->begun(), "it was aborted");
      followed_ = follows;
    }
  }

 private:
  const std::shared_ptr<WatchedGroup> group_;
  const std::shared_ptr<NcclOperation> operation_;
  bool followed_ = false;
};

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(WatchedGloo gloo, at::Device device, const GlooOptions& options,
                   const MakeNcclParts& make);
  ~NcclCommunicator() override { channel_->Close(); }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  int NumberOf(int rank) const override { return group_->NumberOf(rank); }
  std::vector<int> Gone() const override { return group_->Gone(); }
  PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override;
  PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                           Options options) override;
  PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) override;
  PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts, at::Tensor input,
                      std::vector<int64_t> input_counts, Options options) override {
    return cpu_->AllToAll(std::move(output), std::move(output_counts), std::move(input),
                          std::move(input_counts), std::move(options));
  }
  PendingPtr Broadcast(at::Tensor tensor, int root, Options options) override;
  PendingPtr Barrier(Options options) override { return cpu_->Barrier(std::move(options)); }
  void Abort(const std::string& reason) override { group_->Abort(reason); }
  void AbortForAll(const std::string& reason) override { group_->AbortForAll(reason); }

 private:
  bool IsForNccl(const at::Tensor& tensor, const std::string& what) const;
  PendingPtr Issue(std::string what, const Options& options, std::vector<at::Tensor> tensors,
                   const NcclChannel::Call& call);

  const std::shared_ptr<WatchedGroup> group_;
  const std::shared_ptr<Communicator> cpu_;
  const at::Device device_;
  const Milliseconds deadline_;
  std::shared_ptr<const NcclLibrary> library_;
  std::shared_ptr<NcclChannel> channel_;
};

// Lets the ranks exchange what they need to connect. Each gives its version of NCCL, which must be
// the same on all, and rank 0 the id that they connect by. A rank that cannot gives "!" and the
// reason. Throws what is wrong, on all ranks.
NcclUniqueId AgreeOnId(Communicator& cpu, const std::function<int(NcclUniqueId*)>& prepare) {
  NcclUniqueId id = {};
  std::string mine;
  try {
    const std::string version = NcclVersionText(prepare(&id));
    mine = absl::StrCat("=", std::string(id.bytes, sizeof id.bytes), version);
  } catch (const std::exception& error) {
    mine = "!" + ReasonOf(error);
  }
  const std::vector<std::string> said = GatherTexts(cpu, mine);
  for (size_t rank = 0; rank < said.size(); ++rank) {
    if (said[rank][0] == '=') continue;
    throw std::runtime_error(
        absl::StrCat("rank ", cpu.NumberOf(static_cast<int>(rank)), ": ", said[rank].substr(1)));
  }
  const auto version = [&](size_t rank) { return said[rank].substr(1 + sizeof id.bytes); };
  for (size_t rank = 1; rank < said.size(); ++rank) {
    if (version(rank) == version(0)) continue;
    throw std::runtime_error(absl::StrCat("rank ", cpu.NumberOf(static_cast<int>(rank)),
                                          " differs from rank ", cpu.NumberOf(0), ": it has NCCL ",
                                          version(rank), " where rank ", cpu.NumberOf(0),
                                          " has NCCL ", version(0)));
  }
  std::memcpy(id.bytes, said[0].data() + 1, sizeof id.bytes);
  return id;
}

NcclCommunicator::NcclCommunicator(WatchedGloo gloo, at::Device device, const GlooOptions& options,
                                   const MakeNcclParts& make)
    : group_(std::move(gloo.group)),
      cpu_(std::move(gloo.communicator)),
      device_(device),
      deadline_(options.deadline) {
  const NcclUniqueId id = AgreeOnId(*cpu_, [&](NcclUniqueId* made) {
    NcclParts parts = make ? make() : NcclPartsOf(device);
    library_ = parts.library;
    channel_ = std::make_shared<NcclChannel>(library_, std::move(parts.stream), group_);
    const NcclResult got = rank() == 0 ? library_->get_unique_id(made) : NcclResult::kSuccess;
    if (got == NcclResult::kSuccess) return library_->version;
    throw std::runtime_error(absl::StrCat("ncclGetUniqueId: ", library_->get_error_string(got)));
  });
  try {
    group_->Begin("connecting over NCCL", options.join_deadline,
                  [&](const Begun& begun) { channel_->Connect(begun, id); });
  } catch (...) {
    channel_->Close();
    throw;
  }
}

bool NcclCommunicator::IsForNccl(const at::Tensor& tensor, const std::string& what) const {
  if (tensor.device() == device_) return true;
  if (tensor.device().is_cpu()) return false;
  throw std::invalid_argument(absl::StrCat(what, ": ", TypeAndSize(tensor), " is on ",
                                           tensor.device().str(), ", and this rank's group on ",
                                           device_.str(), " and the CPU"));
}

PendingPtr NcclCommunicator::Issue(std::string what, const Options& options,
                                   std::vector<at::Tensor> tensors, const NcclChannel::Call& call) {
  PendingPtr pending;
  group_->Begin(std::move(what), options.deadline.value_or(deadline_), [&](const Begun& begun) {
    pending = std::make_unique<NcclPending>(group_, channel_->Start(begun, call, tensors));
  });
  return pending;
}

PendingPtr NcclCommunicator::AllReduce(at::Tensor tensor, ReduceOp op, Options options) {
  const std::string what = "all_reduce '" + options.name + "'";
  CheckTensor(tensor, what);
  if (!IsForNccl(tensor, what)) return cpu_->AllReduce(std::move(tensor), op, std::move(options));
  const NcclType type = TypeOf(tensor, what);
  return Issue(what + " of " + TypeAndSize(tensor), options, {tensor},
               {"ncclAllReduce", [&](NcclComm* comm, NcclStream stream) {
                  return library_->all_reduce(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(),
                                              type, OpOf(op), comm, stream);
                }});
}

PendingPtr NcclCommunicator::ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                           Options options) {
  const std::string what = "reduce_scatter '" + options.name + "'";
  CheckParts(input, output, size(), what);
  if (!IsForNccl(input, what)) {
    return cpu_->ReduceScatter(std::move(output), std::move(input), op, std::move(options));
  }
  const NcclType type = TypeOf(input, what);
  return Issue(what + " of " + TypeAndSize(input), options, {output, input},
               {"ncclReduceScatter", [&](NcclComm* comm, NcclStream stream) {
                  return library_->reduce_scatter(input.data_ptr(), output.data_ptr(),
                                                  output.numel(), type, OpOf(op), comm, stream);
                }});
}

// Bytes are sent, since nothing is computed.
PendingPtr NcclCommunicator::AllGather(at::Tensor output, at::Tensor input, Options options) {
  const std::string what = "all_gather '" + options.name + "'";
  CheckParts(output, input, size(), what);
  if (!IsForNccl(input, what)) {
    return cpu_->AllGather(std::move(output), std::move(input), std::move(options));
  }
  return Issue(what + " of " + TypeAndSize(output), options, {output, input},
               {"ncclAllGather", [&](NcclComm* comm, NcclStream stream) {
                  return library_->all_gather(input.data_ptr(), output.data_ptr(), input.nbytes(),
                                              NcclType::kUint8, comm, stream);
                }});
}

PendingPtr NcclCommunicator::Broadcast(at::Tensor tensor, int root, Options options) {
  const std::string what = "broadcast '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckRoot(root, size(), what);
  if (!IsForNccl(tensor, what)) {
    return cpu_->Broadcast(std::move(tensor), root, std::move(options));
  }
  return Issue(absl::StrCat(what, " of ", TypeAndSize(tensor), " from rank ", NumberOf(root)),
               options, {tensor},
               {"ncclBroadcast", [&](NcclComm* comm, NcclStream stream) {
                  return library_->broadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes(),
                                             NcclType::kUint8, root, comm, stream);
                }});
}

}  // namespace

NcclParts NcclPartsOf(at::Device device) {
  CheckGpu(device);
  return {.library = LoadNccl(NcclCandidates(TorchFolder())),
          .stream = MakeAcceleratorStream(device)};
}

std::shared_ptr<Communicator> MakeNcclCommunicator(const LaunchEnvironment& environment,
                                                   at::Device device, const GlooOptions& options,
                                                   const MakeNcclParts& make) {
  WatchedGloo gloo;
  if (environment.world_size == 1) {
    gloo = {.group = std::make_shared<WatchedGroup>(0, 1, "127.0.0.1"),
            .communicator = std::make_shared<LoneCommunicator>()};
    gloo.group->JoinAlone();
  } else {
    gloo = ConnectGloo(environment, options, device.type());
  }
  return std::make_shared<NcclCommunicator>(std::move(gloo), device, options, make);
}

}  // namespace hpc::train

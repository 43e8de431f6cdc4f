#include "coordinator/core/request_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/fit.h"
#include "coordinator/core/request_words.h"

namespace hpc::coordinator {
namespace {

// Far more than any PC can run with profit, and little enough that neither a supervisor's
// descriptors nor the coordinator's rounds run short.
constexpr int32_t kMaxRanksPerNode = 1024;
constexpr int64_t kMaxRanks = 65'536;  // of a run

template <typename... Args>
absl::Status Invalid(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}

absl::Status CheckNumbers(const RunRequest& request) {
  if (request.min_nodes < 1) return Invalid("-N ", request.min_nodes, ": needs at least 1 node");
  if (request.max_nodes < request.min_nodes) {
    return Invalid("-N ", request.min_nodes, ":", request.max_nodes,
                   ": the least number of nodes is larger than the most");
  }
  if (request.ranks_per_node < 0) {
    return Invalid("--ranks-per-node ", request.ranks_per_node, ": must not be negative");
  }
  if (request.ranks_per_node > kMaxRanksPerNode) {
    return Invalid("--ranks-per-node ", request.ranks_per_node, ": a node may have at most ",
                   kMaxRanksPerNode, " ranks");
  }
  const int64_t ranks = int64_t{request.max_nodes} * std::max(1, request.ranks_per_node);
  if (ranks > kMaxRanks) {
    return Invalid(request.max_nodes, " nodes with --ranks-per-node ",
                   std::max(1, request.ranks_per_node), " are ", ranks,
                   " ranks: a run may have at most ", kMaxRanks);
  }
  if (request.gpus_per_node.value_or(0) < 0) {
    return Invalid("--gpus-per-node ", *request.gpus_per_node, ": must not be negative");
  }
  if (request.time_limit <= absl::ZeroDuration()) {
    return Invalid("--time-limit ", HumanDuration(request.time_limit), ": must be positive");
  }
  if (request.max_restarts < 0) {
    return Invalid("--max-restarts ", request.max_restarts, ": must not be negative");
  }
  for (int32_t code : request.retry_exits) {
    if (code < 1 || code > 255) {
      return Invalid("--retry-exit ", code, ": an exit code that is not success is 1 to 255");
    }
  }
  if (request.stop_grace < absl::ZeroDuration()) {
    return Invalid("a grace of ", HumanDuration(request.stop_grace), ": must not be negative");
  }
  return absl::OkStatus();
}

absl::Status CheckNames(const RunRequest& request, const NodeTable& nodes) {
  for (const auto* names : {&request.node_list, &request.exclude}) {
    for (const std::string& name : *names) {
      if (nodes.Find(name) == nullptr) return nodes.Unknown(name);
    }
  }
  return absl::OkStatus();
}

// "pc1 (2 GPUs), pc2 (no GPU, off)".
std::string WhatExists(const NodeTable& nodes) {
  constexpr size_t kNamed = 12;
  std::vector<std::string> words;
  for (const auto& [name, node] : nodes.by_name()) {
    if (words.size() == kNamed) {
      words.push_back(absl::StrCat(nodes.size() - kNamed, " more"));
      break;
    }
    const NodeSpace space = EmptySpace(name, node->record.inventory);
    std::string what = space.gpus > 0 ? Count(space.gpus, "GPU") : "no GPU";
    if (node->record.power == Power::kOff) absl::StrAppend(&what, ", off");
    if (node->record.reclaimed) absl::StrAppend(&what, ", reclaimed");
    words.push_back(absl::StrCat(name, " (", what, ")"));
  }
  return JoinWords(words);
}

absl::Status CheckCapacity(const RunRequest& request, const NodeTable& nodes) {
  if (nodes.size() == 0) return absl::OkStatus();
  int32_t fitting = 0;
  for (const auto& [name, node] : nodes.by_name()) {
    if (CouldHold(request, EmptySpace(name, node->record.inventory))) ++fitting;
    if (fitting == request.min_nodes) return absl::OkStatus();
  }
  const std::string have = fitting == 0 ? "none" : absl::StrCat("only ", fitting);
  return absl::FailedPreconditionError(
      absl::StrCat("needs ", RequestWords(request), ", but ", have, " of that kind ",
                   fitting == 1 ? "exists" : "exist", "; the cluster has ",
                   Count(static_cast<int64_t>(nodes.size()), "node"), ": ", WhatExists(nodes)));
}

}  // namespace

absl::Status CheckRequest(const RunRequest& request, const NodeTable& nodes) {
  HPC_RETURN_IF_ERROR(CheckNumbers(request));
  HPC_RETURN_IF_ERROR(CheckNames(request, nodes));
  return CheckCapacity(request, nodes);
}

}  // namespace hpc::coordinator

#include "coordinator/core/policy/request_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/policy/node_words.h"
#include "coordinator/core/policy/request_words.h"

namespace hpc::coordinator {
namespace {

// This is far more than any PC can run with profit. It is so few that neither a supervisor's
// descriptors nor the coordinator's rounds are exhausted.
constexpr int32_t kMaxRanksPerNode = 1024;
constexpr int64_t kMaxRanks = 65'536;  // of one run
constexpr size_t kNodesListed = 12;    // in one refusal

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

std::string WhatItIs(const Node& node) {
  const NodeSpace space = EmptySpace(node.name(), node.record.inventory);
  std::string what = space.gpus > 0 ? Count(space.gpus, "GPU") : "no GPU";
  if (node.record.power == Power::kOff) absl::StrAppend(&what, ", off");
  if (node.record.power == Power::kStopped) absl::StrAppend(&what, ", its worker stopped");
  if (node.record.reclaimed) absl::StrAppend(&what, ", reclaimed");
  return absl::StrCat(node.name(), " (", what, ")");
}

absl::Status CheckCapacity(const RunRequest& request, const NodeTable& nodes) {
  std::vector<std::string> there, shut_out, kept;
  int32_t fitting = 0;
  for (const auto& [name, node] : nodes.by_name()) {
    if (node->ShutOut()) {
      shut_out.push_back(name);
      continue;
    }
    there.push_back(WhatItIs(*node));
    const NodeSpace space = EmptySpace(name, node->record.inventory);
    if (CouldHold(request, space) && IsKeptFrom(request, space)) {
      kept.push_back(KeptFromWords(name, node->record.inventory));
    } else if (CouldHold(request, space)) {
      ++fitting;
    }
    if (fitting == request.min_nodes) return absl::OkStatus();
  }
  if (there.empty()) return absl::OkStatus();  // more PCs may still join
  if (fitting + static_cast<int32_t>(kept.size()) >= request.min_nodes) {
    return absl::FailedPreconditionError(absl::StrCat("needs ", RequestWords(request), ", but ",
                                                      JoinSome(std::move(kept), kNodesListed)));
  }
  const auto count = static_cast<int64_t>(there.size());
  std::string text = absl::StrCat(
      "needs ", RequestWords(request), ", but ", ExistWords(request, fitting), "; the cluster has ",
      Count(count, "node"), ": ", JoinSome(std::move(there), kNodesListed));
  if (!shut_out.empty()) {
    const char* are = shut_out.size() == 1 ? " is" : " are";
    absl::StrAppend(&text, "; ", JoinSome(std::move(shut_out), kNodesListed), are, " shut out");
  }
  return absl::FailedPreconditionError(text);
}

}  // namespace

absl::Status CheckRequest(const RunRequest& request, const NodeTable& nodes) {
  HPC_RETURN_IF_ERROR(CheckNumbers(request));
  HPC_RETURN_IF_ERROR(CheckNames(request, nodes));
  return CheckCapacity(request, nodes);
}

}  // namespace hpc::coordinator

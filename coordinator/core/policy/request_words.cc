#include "coordinator/core/policy/request_words.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {

std::string NodeCountWords(const RunRequest& request) {
  if (request.min_nodes == request.max_nodes) return Count(request.min_nodes, "node");
  return absl::StrCat(request.min_nodes, " to ", Count(request.max_nodes, "node"));
}

std::string NeedWords(const RunRequest& request) {
  std::string words = NodeCountWords(request);
  if (request.gpus_per_node.has_value()) {
    if (*request.gpus_per_node == 0) {
      absl::StrAppend(&words, " without GPUs");
    } else {
      absl::StrAppend(&words, " with ", Count(*request.gpus_per_node, "GPU"),
                      request.max_nodes > 1 ? " each" : "");
    }
  }
  return words;
}

std::string RequestWords(const RunRequest& request) {
  std::string words = NeedWords(request);
  if (!request.node_list.empty()) absl::StrAppend(&words, ", of ", JoinWords(request.node_list));
  if (!request.exclude.empty()) absl::StrAppend(&words, ", not ", JoinWords(request.exclude));
  return words;
}

std::string ExistWords(const RunRequest& request, int32_t fitting) {
  std::string words = fitting == 0 ? "no node" : absl::StrCat("only ", Count(fitting, "node"));
  const bool any = request.node_list.empty() && request.exclude.empty();
  if (!any) absl::StrAppend(&words, " that it may use");
  const int32_t gpus = request.gpus_per_node.value_or(0);
  if (gpus == 0) return absl::StrCat(words, fitting > 1 ? " exist" : " exists");
  return absl::StrCat(words, fitting > 1 ? " have" : " has", " at least ", Count(gpus, "GPU"));
}

}  // namespace hpc::coordinator

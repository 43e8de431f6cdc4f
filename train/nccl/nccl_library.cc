#include "train/nccl/nccl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hpc::train {
namespace {

constexpr char kVariable[] = "HPC_NCCL_LIBRARY";
constexpr char kSoname[] = "libnccl.so.2";

template <typename Call>
bool Find(void* library, const char* name, Call** call) {
  *call = reinterpret_cast<Call*>(dlsym(library, name));
  return *call != nullptr;
}

NcclLibrary CallsOf(void* library, const std::string& path) {
  NcclLibrary calls = {};
  calls.path = path;
  std::vector<std::string> missing;
  const auto need = [&](const char* name, auto** call) {
    if (!Find(library, name, call)) missing.emplace_back(name);
  };
  need("ncclGetVersion", &calls.get_version);
  need("ncclGetUniqueId", &calls.get_unique_id);
  need("ncclCommInitRankConfig", &calls.comm_init_rank_config);
  need("ncclCommGetAsyncError", &calls.comm_get_async_error);
  need("ncclCommFinalize", &calls.comm_finalize);
  need("ncclCommDestroy", &calls.comm_destroy);
  need("ncclCommAbort", &calls.comm_abort);
  need("ncclGetErrorString", &calls.get_error_string);
  need("ncclGetLastError", &calls.get_last_error);
  need("ncclAllReduce", &calls.all_reduce);
  need("ncclReduceScatter", &calls.reduce_scatter);
  need("ncclAllGather", &calls.all_gather);
  need("ncclBroadcast", &calls.broadcast);
  Find(library, "ncclCommRevoke", &calls.comm_revoke);
  if (calls.get_version != nullptr) calls.get_version(&calls.version);
  if (missing.empty() && calls.version >= kNcclOldestVersion) return calls;
  throw std::runtime_error(
      absl::StrCat(path, " is NCCL ", NcclVersionText(calls.version),
                   missing.empty() ? "" : absl::StrCat(", without ", absl::StrJoin(missing, ", ")),
                   "; ", NcclVersionText(kNcclOldestVersion), " or newer is needed"));
}

}  // namespace

std::string NcclVersionText(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::vector<std::string> NcclCandidates(const std::string& torch_folder) {
  if (const char* named = std::getenv(kVariable); named != nullptr && *named != '\0') {
    return {named};
  }
  return {kSoname, absl::StrCat(torch_folder, "/../../nvidia/nccl/lib/", kSoname)};
}

std::shared_ptr<const NcclLibrary> LoadNccl(const std::vector<std::string>& candidates) {
  std::vector<std::string> failed;
  for (const std::string& path : candidates) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return std::make_shared<NcclLibrary>(CallsOf(library, path));
    }
    failed.emplace_back(dlerror());  // the error names the path
  }
  throw std::runtime_error(absl::StrCat(
      "NCCL, which ranks with GPUs need, was not found: ", absl::StrJoin(failed, "; "),
      ". The Python package nvidia-nccl-cu13 has it; ", kVariable, "=PATH names another"));
}

}  // namespace hpc::train

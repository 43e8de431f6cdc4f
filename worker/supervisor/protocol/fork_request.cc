#include "worker/supervisor/protocol/fork_request.h"

#include "worker/supervisor/protocol/field_bytes.h"

namespace hpc::worker {
namespace {

template <typename Archive>
bool Fields(Archive& archive, ForkRequest& request) {
  return archive(request.account) && archive(request.cgroup) && archive(request.open_files) &&
         archive(request.most_open_files);
}

}  // namespace

std::string Encode(const ForkRequest& request) {
  WireWriter writer;
  ForkRequest copy = request;
  Fields(writer, copy);
  return writer.Take();
}

std::optional<ForkRequest> DecodeForkRequest(const std::string& bytes) {
  WireReader reader(bytes);
  ForkRequest request;
  if (!Fields(reader, request) || !reader.AtEnd()) return std::nullopt;
  return request;
}

}  // namespace hpc::worker

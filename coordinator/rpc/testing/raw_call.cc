#include "coordinator/rpc/testing/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <vector>

#include "coordinator/rpc/testing/test_server.h"

namespace hpc::coordinator::testing {
namespace {

bool WaitFor(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue->Next(&tag, &ok) && ok;
}

std::string Flatten(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!bytes.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices) {
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return out;
}

}  // namespace

RawAnswer RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto context = Context();
  const auto call = stub.PrepareCall(context.get(), method, &queue);
  RawAnswer answer;
  call->StartCall(nullptr);
  WaitFor(&queue);
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  WaitFor(&queue);
  grpc::ByteBuffer bytes;
  call->Read(&bytes, nullptr);
  const bool answered = WaitFor(&queue);
  if (answered) {
    answer.bytes = Flatten(bytes);
    call->Read(&bytes, nullptr);
    if (WaitFor(&queue)) context->TryCancel();
  }
  call->Finish(&answer.status, nullptr);
  WaitFor(&queue);
  return answer;
}

}  // namespace hpc::coordinator::testing

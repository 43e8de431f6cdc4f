// Converts between bytes on the wire and messages. Calls are accepted as bytes, so that a request
// which is not a valid message gets an answer that names what is wrong with it. gRPC's own parsing
// would answer "Unable to parse request", or would end a stream as if the peer had finished.
#ifndef HPC_COORDINATOR_RPC_CALLS_MESSAGE_BYTES_H_
#define HPC_COORDINATOR_RPC_CALLS_MESSAGE_BYTES_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace hpc::coordinator {

// InvalidArgument: the error names the message and, for text that is not valid UTF-8, the field.
absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

grpc::ByteBuffer Serialize(const google::protobuf::Message& message);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_MESSAGE_BYTES_H_

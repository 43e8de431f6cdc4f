// The messages of a call that the client sends to the coordinator.
#ifndef HPC_MEMBER_HTTP2_OUTGOING_H_
#define HPC_MEMBER_HTTP2_OUTGOING_H_

#include <string>
#include <utility>

namespace hpc::wire {

class Outgoing {
 public:
  enum class Next { kMessage, kNotYet, kEnd };

  virtual ~Outgoing() = default;
  // Appends the next message to `message`, if there is one.
  virtual Next Take(std::string* message) = 0;
  // After kNotYet this descriptor becomes readable (poll(2)) once Take is worth another try. Take
  // empties it. -1: Take never returns kNotYet.
  virtual int fd() const { return -1; }
};

class OneMessage : public Outgoing {
 public:
  explicit OneMessage(std::string message) : message_(std::move(message)) {}

  Next Take(std::string* message) override {
    if (std::exchange(taken_, true)) return Next::kEnd;
    message->append(message_);
    return Next::kMessage;
  }

 private:
  const std::string message_;
  bool taken_ = false;
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_OUTGOING_H_

// The messages of a call that go to the coordinator.
#ifndef HPC_MEMBER_WIRE_OUTGOING_H_
#define HPC_MEMBER_WIRE_OUTGOING_H_

#include <string>
#include <utility>

namespace hpc::wire {

class Outgoing {
 public:
  enum class Next { kMessage, kNotYet, kEnd };

  virtual ~Outgoing() = default;
  // Appends the next message, if there is one.
  virtual Next Take(std::string* message) = 0;
  // Can be read (poll(2)) after kNotYet, once Take is worth another try, and is then read empty by
  // Take. -1: never kNotYet.
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

#endif  // HPC_MEMBER_WIRE_OUTGOING_H_

// The part of Gloo's headers that c10d's ProcessGroupGloo.hpp needs. PyTorch's wheel does not
// contain those headers, although its library exports Gloo. Our build puts this file in their place
// (cmake/torch.cmake).
//
// These classes may only be used through pointers, because the real ones have other members. Never
// make a gloo::rendezvous::Store or a c10d::ProcessGroupGloo::GlooStore: the table of virtual
// functions of the class below is not the real one.
#ifndef HPC_TRAIN_GLOO_DECLARATIONS_H_
#define HPC_TRAIN_GLOO_DECLARATIONS_H_

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace rendezvous {

class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous

namespace transport {

class Device;
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};

}  // namespace transport
}  // namespace gloo

#endif  // HPC_TRAIN_GLOO_DECLARATIONS_H_

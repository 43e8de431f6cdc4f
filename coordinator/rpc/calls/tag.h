// What an event of the completion queue stands for.
#ifndef HPC_COORDINATOR_RPC_CALLS_TAG_H_
#define HPC_COORDINATOR_RPC_CALLS_TAG_H_

namespace hpc::coordinator {

// Given to gRPC as the tag of an operation. Complete is called on the loop's thread when the
// operation has finished.
class Tag {
 public:
  virtual ~Tag() = default;
  virtual void Complete(bool ok) = 0;
};

// Calls a method of an object. It belongs to the object, which must outlive the operation.
template <typename T>
class MemberTag final : public Tag {
 public:
  MemberTag(T* object, void (T::*method)(bool)) : object_(object), method_(method) {}
  void Complete(bool ok) override { (object_->*method_)(ok); }

 private:
  T* object_;
  void (T::*method_)(bool);
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_TAG_H_

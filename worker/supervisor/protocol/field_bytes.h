// How the structs of spec.h become bytes and back. Integers are little-endian in their full width;
// text and lists are preceded by a 32-bit count. Every value has exactly one encoding.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_FIELD_BYTES_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_FIELD_BYTES_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace hpc::worker {

// Both archives are called with the fields one after the other. `Fields(archive, value)` lists the
// fields of a struct once, for both directions.
class WireWriter {
 public:
  template <typename T>
  requires std::is_integral_v<T>
  bool operator()(const T& value) {
    const auto bits = static_cast<uint64_t>(value);
    for (size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<char>(bits >> (8 * i)));
    return true;
  }
  bool operator()(const std::string& text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_ += text;
    return true;
  }
  template <typename T>
  bool operator()(std::vector<T>& list) {
    (*this)(static_cast<uint32_t>(list.size()));
    for (T& one : list) Put(one);
    return true;
  }
  std::string Take() { return std::move(bytes_); }

 private:
  template <typename T>
  void Put(T& one) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::string>) {
      (*this)(one);
    } else {
      Fields(*this, one);
    }
  }
  std::string bytes_;
};

// Each call returns false, and changes nothing that it must not change, once the bytes are not what
// WireWriter makes.
class WireReader {
 public:
  explicit WireReader(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  requires std::is_integral_v<T>
  bool operator()(T& value) {
    if (Left() < sizeof(T)) return false;
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    }
    at_ += sizeof(T);
    if (std::is_same_v<T, bool> && bits > 1) return false;
    value = static_cast<T>(bits);
    return true;
  }
  bool operator()(std::string& text) {
    uint32_t size = 0;
    if (!(*this)(size) || Left() < size) return false;
    text.assign(bytes_, at_, size);
    at_ += size;
    return true;
  }
  template <typename T>
  bool operator()(std::vector<T>& list) {
    uint32_t count = 0;
    // Every element takes at least one byte, so a false count cannot make us allocate much.
    if (!(*this)(count) || Left() < count) return false;
    list.clear();
    for (uint32_t i = 0; i < count; ++i) {
      if (!Get(list.emplace_back())) return false;
    }
    return true;
  }
  bool AtEnd() const { return at_ == bytes_.size(); }

 private:
  template <typename T>
  bool Get(T& one) {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::string>) {
      return (*this)(one);
    } else {
      return Fields(*this, one);
    }
  }
  size_t Left() const { return bytes_.size() - at_; }

  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_FIELD_BYTES_H_

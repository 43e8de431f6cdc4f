// Computes the SHA-256 of data that comes in pieces.
#ifndef HPC_COMMON_FILES_SHA256_H_
#define HPC_COMMON_FILES_SHA256_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace hpc {

class Sha256 {
 public:
  Sha256();

  void Add(absl::string_view bytes);

  // Returns 64 hexadecimal digits, in lower case. It may be called once, and nothing may be added
  // after it.
  std::string Hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

// Returns the hash of all of `bytes`, in the form of Hex.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_SHA256_H_

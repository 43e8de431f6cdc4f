// Ending the ranks of a node whose worker is gone: the worker of another node of the gang asks
// their supervisor, which listens once its own worker is not there, and answers when they are gone.
// Both sides' bytes; without Abseil.
//
//   asked     "hpc-recall <key> <grace in ms>\n"
//   answered  "<proof>\n"   once no process of the attempt is left there
//
// Key and proof are 32 hexadecimal digits each, made anew for each supervisor: who knows the key
// may end these ranks, which it does, and whoever answers with the proof is the supervisor.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_RECALL_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_RECALL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace hpc::worker {

struct RecallSecret {
  std::string key;
  std::string proof;

  bool operator==(const RecallSecret&) const = default;
};

inline constexpr size_t kRecallDigits = 32;
inline constexpr size_t kMaxRecallQuestion = 64;  // bytes, its end of line included

std::string RecallQuestion(const std::string& key, int64_t grace_ms);
// The grace; nullopt: it is no question, or of somebody who does not know the key.
std::optional<int64_t> ParseRecallQuestion(const std::string& line, const std::string& key);
std::string RecallAnswer(const std::string& proof);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_RECALL_H_

// Recall ends the ranks of a node whose worker is gone. The worker of another node of the gang asks
// their supervisor. The supervisor listens once its own worker is gone, and answers when the ranks
// are gone. This file has the bytes of both sides, without Abseil.
//
//   asked     "hpc-recall <key> <grace in ms>\n"
//   answered  "<proof>\n"   once no process of the attempt is left there
//
// Key and proof are 32 hexadecimal digits each, made anew for each supervisor. Whoever knows the
// key may end these ranks, which is what the question does. Whoever answers with the proof is the
// supervisor.
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
inline constexpr size_t kMaxRecallQuestion = 64;  // including its line end

std::string RecallQuestion(const std::string& key, int64_t grace_ms);
// Returns the grace. nullopt: it is not a question, or the asker does not know the key.
std::optional<int64_t> ParseRecallQuestion(const std::string& line, const std::string& key);
std::string RecallAnswer(const std::string& proof);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_RECALL_H_

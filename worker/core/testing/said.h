// Reading effects in tests.
#ifndef HPC_WORKER_CORE_TESTING_SAID_H_
#define HPC_WORKER_CORE_TESTING_SAID_H_

#include <vector>

#include "worker/core/effects.h"

namespace hpc::testing {

template <typename T>
std::vector<T> All(const worker::Effects& effects) {
  std::vector<T> found;
  for (const worker::Effect& effect : effects) {
    if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
  }
  return found;
}

// The messages of type T that were said.
template <typename T>
std::vector<T> Said(const worker::Effects& effects) {
  std::vector<T> found;
  for (const worker::Say& say : All<worker::Say>(effects)) {
    if (const T* one = std::get_if<T>(&say.message)) found.push_back(*one);
  }
  return found;
}

}  // namespace hpc::testing

#endif  // HPC_WORKER_CORE_TESTING_SAID_H_

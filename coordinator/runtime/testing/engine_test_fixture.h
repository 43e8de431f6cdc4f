// An engine, and a client that remembers the answers it got.
#ifndef HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_TEST_FIXTURE_H_
#define HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/runtime/testing/engine_rig.h"

namespace hpc::coordinator::testing {

class EngineTest : public ::testing::Test {
 protected:
  // Submits without flushing; ids and errors are added when the answer comes.
  void Submit(const std::string& request_id = "", int32_t nodes = 1) {
    RunProgram program = MakeProgram();
    program.request_id = request_id;
    RunRequest request = OneNode();
    request.min_nodes = request.max_nodes = nodes;
    rig_.engine->Submit(request, program, [this](absl::StatusOr<RunId> run) {
      run.ok() ? ids_.push_back(*run) : errors_.push_back(run.status());
    });
  }

  EngineRig rig_;
  RecordingLink link_;
  std::vector<RunId> ids_;
  std::vector<absl::Status> errors_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RUNTIME_TESTING_ENGINE_TEST_FIXTURE_H_

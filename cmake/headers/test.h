#pragma once

// The headers that most test programs include, compiled once (HPC_PCH). A file still includes what
// it uses: it must compile without this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/headers/common.h"

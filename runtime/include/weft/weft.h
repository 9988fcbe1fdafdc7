// All of weft.
#pragma once

// The standard functions of C, declared first, so that sqrt(2.0) and isnan(d) stay theirs in a
// program that says `using namespace weft`.
#include <math.h>
#include <stdlib.h>

#include <weft/graph/anomaly.h>
#include <weft/graph/args.h>
#include <weft/graph/autograd.h>
#include <weft/graph/cost.h>
#include <weft/graph/cuda_kernel.h>
#include <weft/graph/custom_vjp.h>
#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/error.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/graph.h>
#include <weft/graph/host_callback.h>
#include <weft/graph/log.h>
#include <weft/graph/numerics.h>
#include <weft/graph/scope.h>
#include <weft/graph/shape.h>
#include <weft/graph/tensor.h>
#include <weft/nn/nn.h>
#include <weft/runtime/cost.h>
#include <weft/runtime/counters.h>
#include <weft/runtime/data.h>
#include <weft/runtime/device.h>
#include <weft/runtime/memory.h>
#include <weft/runtime/plan.h>
#include <weft/runtime/settings.h>
#include <weft/runtime/sim.h>
#include <weft/runtime/system.h>

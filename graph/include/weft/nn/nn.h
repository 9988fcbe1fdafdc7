// Umbrella of neural networks: functions, losses, modules, optimisers.
#pragma once

#include <weft/nn/functions.h>
#include <weft/nn/layers.h>
#include <weft/nn/module.h>
#include <weft/nn/optim.h>
#include <weft/nn/state.h>

// Whether a plan's steps are ordered as their memory needs, on any timing of its streams.
#pragma once

#include <string>

#include "frozen_plan.h"

namespace weft::detail {

/// "" for a sound plan, else the first hazard. Streams run their steps in order and are ordered
/// among each other only by record and wait (vector clocks: Fidge 1988, Mattern 1989). Reported
/// are: reads of what was not written, or not waited for, or whose memory another buffer has taken;
/// writes over what a step not waited for still reads or writes, or which the same step reads
/// otherwise than element by element; waits for an event that no earlier step records; steps other
/// than transfers and uploads that touch another device's memory; buffers outside their arena;
/// outputs that are not there in the end. A Variable's new value that may take the old one's memory
/// is taken to do so.
std::string find_hazard(const FrozenPlan& plan);

}  // namespace weft::detail

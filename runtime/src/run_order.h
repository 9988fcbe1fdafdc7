// The order of runs in flight: by the memory that their segments use and the values that they read.
#pragma once

#include <memory>
#include <span>

#include "run.h"

namespace weft::detail {

/// Says what a run's segments wait for in earlier ones, which are given in the order of their
/// submission. The run is bound and has not been submitted. Under the engine lock.
///
/// A segment follows those segments of earlier runs that use memory which it uses, unless both only
/// read; the arena of a device is one piece of memory. Streams of one GPU see to that by events, so
/// the host waits only until these are recorded. The host itself waits:
///  - for segments of, and on, other devices;
///  - for the end of a run that has steps which can find fault with data, before its values are
///  used;
///  - before a Variable is written over, until every segment of the runs whose values the run uses
///    has been appended: they can then fail only with the device, and it with them. For their end
///    where they use other GPUs.
/// A run ends after those whose values it uses, and after earlier ones that assign Variables if it
/// does.
void order_after(Run& run, std::span<const std::shared_ptr<Run>> earlier);

}  // namespace weft::detail

// Measuring what work costs on this machine.
#pragma once

#include <weft/graph/cost.h>

namespace weft {

/// Times kernels, products and copies on the cpu and on each visible GPU, a few times each, and
/// takes the quickest: for `set_cost_table`, which it does not call. Takes 0.3 s and more for the
/// cpu and for each kind of GPU, and up to 256 MiB on each device, which its pool then keeps
/// (`empty_cache`); kernels are compiled if need be. Other work at the same time spoils it, and no two measurements are equal: keep the
/// table where plans have to repeat. The first GPU gives the row of its kind; one of another name
/// gets a row of its own. TraceError while a step is being traced; what fails on a device is
/// thrown.
CostTable measure_costs(Where at = {});

}  // namespace weft

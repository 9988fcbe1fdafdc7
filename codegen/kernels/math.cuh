// All the functions for float and double. For the device the files stand before
// this one, in the same order.
#ifndef WEFT_MATH_CUH
#define WEFT_MATH_CUH

#ifndef __CUDACC_RTC__
#include "math_activation.cuh"
#include "math_arc.cuh"
#include "math_base.cuh"
#include "math_erf.cuh"
#include "math_exp.cuh"
#include "math_gamma.cuh"
#include "math_log.cuh"
#include "math_trig.cuh"
#endif

#endif

// What the kernel files share: the name of the level that they are compiled for, element types.
#pragma once

#include "kernels.h"

#include "math.cuh"
#include "scalar.cuh"

#define WEFT_JOIN_(a, b) a##b
#define WEFT_JOIN(a, b) WEFT_JOIN_(a, b)
/// fill_pointwise_v3 for WEFT_ISA_NAME(fill_pointwise_) under -DWEFT_ISA=v3.
#define WEFT_ISA_NAME(prefix) WEFT_JOIN(prefix, WEFT_ISA)

/// Before a loop whose iterations read nothing that others write: `__restrict` on pointers that were
/// cast is not believed, and each loop would be compiled twice and test for overlap.
#if defined(__clang__)
#define WEFT_EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define WEFT_EACH _Pragma("GCC ivdep")
#endif

// Bytes of the widest vectors that this level has.
#if defined(__AVX512F__)
#define WEFT_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define WEFT_VECTOR_BYTES 32
#else
#define WEFT_VECTOR_BYTES 16
#endif

// The order of elements as an order of numbers.
#ifndef WEFT_ORDER_CUH
#define WEFT_ORDER_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

// Numbers whose unsigned order is that of the elements: NaN greatest, both zeros equal.

WEFT_FN wf_u32 wf_order_key(float x) {
  wf_u32 bits = wf_bits(x == 0.0f ? 0.0f : x);
  wf_u32 key = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return x != x ? ~0u : key;
}
WEFT_FN wf_u64 wf_order_key(double x) {
  wf_u64 bits = wf_bits(x == 0.0 ? 0.0 : x);
  wf_u64 key = (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000ull;
  return x != x ? ~0ull : key;
}
WEFT_FN wf_u32 wf_order_key(wf_i32 x) { return wf_u32(x) ^ 0x80000000u; }
WEFT_FN wf_u64 wf_order_key(wf_i64 x) { return wf_u64(x) ^ 0x8000000000000000ull; }

#endif

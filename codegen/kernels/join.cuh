// Copies of parts: joins of values along an axis, values written into a part of another.
#ifndef WEFT_JOIN_CUH
#define WEFT_JOIN_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

// A thread for an element of one of N inputs, T of the element's size. Words: 0 output, then of
// each input 5 + 4 R: address, first block, elements, the output's offset, a word not used, and a
// space of its own, strides of input and output.
template <class T, int R, int N, class U>
WEFT_FN void wf_cat(const wf_u64* w) {
  const wf_u64* part = w + 1;
  WF_UNROLL
  for (int k = 1; k < N; ++k) {
    const wf_u64* next = w + 1 + k * (5 + 4 * R);
    if (blockIdx.x >= wf_u32(next[1])) part = next;
  }
  U n = (U(blockIdx.x) - U(part[1])) * 256 + threadIdx.x;
  if (n >= U(part[2])) return;
  U offset[2] = {0, U(part[3])};
  wf_offsets<R, 2>(part + 5, n, offset);
  wf_pointer<T>(w[0])[wf_signed(offset[1])] = wf_pointer<const T>(part[0])[wf_signed(offset[0])];
}

// A thread for an element. Words: 0 input, 1 output, 2 elements, 3 and 4 factors of the output's
// offset, 5 ... a space, strides of input and output.
template <class T, int R, class U>
WEFT_FN void wf_copy_part(const wf_u64* w) {
  U n = wf_thread<U>();
  if (n >= U(w[2])) return;
  U offset[2] = {0, U(w[3]) * U(w[4])};
  wf_offsets<R, 2>(w + 5, n, offset);
  wf_pointer<T>(w[1])[wf_signed(offset[1])] = wf_pointer<const T>(w[0])[wf_signed(offset[0])];
}

#endif

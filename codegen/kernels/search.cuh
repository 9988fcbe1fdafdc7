// Places in lines that ascend.
#ifndef WEFT_SEARCH_CUH
#define WEFT_SEARCH_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#include "order.cuh"
#endif

// A thread for a value, by bisection. Words: 0 the lines, 1 values, 2 output, 3 how many, 4
// elements of a line, 5 their stride, 6 whether after equal ones, 7 ... the space of the values,
// strides of values and of lines.
template <class X, int R, class U>
WEFT_FN void wf_search(const wf_u64* w) {
  U n = wf_thread<U>();
  if (n >= U(w[3])) return;
  U offset[2] = {0, 0};
  wf_offsets<R, 2>(w + 7, n, offset);
  auto key =
      wf_order_key(X::load(wf_pointer<const typename X::stored>(w[1])[wf_signed(offset[0])]));
  const typename X::stored* line =
      wf_pointer<const typename X::stored>(w[0]) + wf_signed(offset[1]);
  bool right = w[6] != 0;
  U begin = 0, end = U(w[4]);
  while (begin < end) {
    U middle = begin + (end - begin) / 2;
    auto here = wf_order_key(X::load(line[wf_signed(middle * U(w[5]))]));
    if (right ? here <= key : here < key)
      begin = middle + 1;
    else
      end = middle;
  }
  wf_pointer<wf_i64>(w[2])[n] = wf_i64(begin);
}

#endif

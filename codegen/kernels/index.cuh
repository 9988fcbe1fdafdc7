// Reading, adding and writing at indices along an axis. A bad index is reported, and its element skipped.
#ifndef WEFT_INDEX_CUH
#define WEFT_INDEX_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

// A thread for an output element, T of the element's size. Words: 0 table, 1 indices, 2 output,
// 3 elements, 4 the table's stride along the axis, 5 its extent, 6 error block, 7 step, 8 ... the
// space of the indices, strides of indices and table.
template <class T, class Index, int R, class U>
WEFT_FN void wf_gather(const wf_u64* w) {
  U n = wf_thread<U>();
  if (n >= U(w[3])) return;
  U offset[2] = {0, 0};
  wf_offsets<R, 2>(w + 8, n, offset);
  wf_i64 i = wf_pointer<const Index>(w[1])[wf_signed(offset[0])];
  if (!wf_is_within(i, wf_i64(w[5]), w[6], w[7])) return;
  wf_pointer<T>(w[2])[n] = wf_pointer<const T>(w[0])[wf_signed(offset[1] + U(wf_u64(i)) * U(w[4]))];
}

// Sums at indices are made in the order of the indices: they are sorted by where they point, stably,
// and a thread makes each sum. Axes along which the indices repeat are left out of the sort.

// Keys of the sort: number of the line, times the extent of the axis, plus the index; for a bad
// index one beyond all. Words: 0 indices, 1 keys, 2 how many, 3 extent of the axis, 4 key of a bad
// index, 5 error block, 6 step, 7 ... the sorted space, strides of indices and of keys.
template <class Index, int R, class U>
WEFT_FN void wf_scatter_keys(const wf_u64* w) {
  U n = wf_thread<U>();
  if (n >= U(w[2])) return;
  U offset[2] = {0, 0};
  wf_offsets<R, 2>(w + 7, n, offset);
  wf_i64 i = wf_pointer<const Index>(w[0])[wf_signed(offset[0])];
  bool is_good = wf_is_within(i, wf_i64(w[3]), w[5], w[6]);
  wf_pointer<wf_u64>(w[1])[n] = is_good ? wf_u64(offset[1]) + wf_u64(i) : w[4];
}

// A thread for each sorted number and element of the repeated space, these side by side; the first
// of equal keys adds them all. Words: 0 source, 1 output, 2 keys, 3 order, 4 how many, 5 elements
// of the repeated space, 6 extent of the axis, 7 key of a bad index, 8 the output's stride along
// the axis, 9 ... the sorted space, then the repeated one, strides of source and output.
template <class X, int R, int F, class U>
WEFT_FN void wf_scatter_sums(const wf_u64* w) {
  typedef typename X::stored T;
  U t = wf_thread<U>(), count = U(w[4]), repeats = U(w[5]);
  U s = t / repeats, f = t - s * repeats;
  if (s >= count) return;
  const wf_u64* keys = wf_pointer<const wf_u64>(w[2]);
  const U* order = wf_pointer<const U>(w[3]);
  wf_u64 key = keys[s];
  if (key == w[7] || (s > 0 && keys[s - 1] == key)) return;
  U repeated[2] = {0, 0}, offset[2] = {0, 0};
  wf_offsets<F, 2>(w + 9 + 4 * R, f, repeated);
  wf_offsets<R, 2>(w + 9, order[s], offset);
  T* target = wf_pointer<T>(w[1]) + wf_signed(offset[1] + repeated[1] + U(key % w[6]) * U(w[8]));
  typename X::value sum = X::load(*target);
  for (; s < count && keys[s] == key; ++s) {
    U from[2] = {repeated[0], 0};
    wf_offsets<R, 2>(w + 9, order[s], from);
    sum = wf_add(sum, X::load(wf_pointer<const T>(w[0])[wf_signed(from[0])]));
  }
  *target = X::store(sum);
}

// The same for writes: the last of equal keys writes, T of the element's size. Words as of the sums.
template <class T, int R, int F, class U>
WEFT_FN void wf_scatter_lasts(const wf_u64* w) {
  U t = wf_thread<U>(), count = U(w[4]), repeats = U(w[5]);
  U s = t / repeats, f = t - s * repeats;
  if (s >= count) return;
  const wf_u64* keys = wf_pointer<const wf_u64>(w[2]);
  wf_u64 key = keys[s];
  if (key == w[7] || (s + 1 < count && keys[s + 1] == key)) return;
  U offset[2] = {0, 0};
  wf_offsets<R, 2>(w + 9, wf_pointer<const U>(w[3])[s], offset);
  wf_offsets<F, 2>(w + 9 + 4 * R, f, offset);
  U target = offset[1] + U(key % w[6]) * U(w[8]);
  wf_pointer<T>(w[1])[wf_signed(target)] = wf_pointer<const T>(w[0])[wf_signed(offset[0])];
}

#endif

// Pairs of sums, differences and products in one pass over a block: each op is rounded as it is
// alone.
#include "isa.h"

namespace weft::detail {
namespace {

struct Add {
  template <class T>
  static T apply(T x, T y) {
    return wf_add(x, y);
  }
};
struct Sub {
  template <class T>
  static T apply(T x, T y) {
    return wf_sub(x, y);
  }
};
struct SubFrom {
  template <class T>
  static T apply(T x, T y) {
    return wf_sub(y, x);
  }
};
struct Mul {
  template <class T>
  static T apply(T x, T y) {
    return wf_mul(x, y);
  }
};

template <class First, class Second, class T>
void pair(void* result, const void* px, const void* py, const void* pz) {
  T* __restrict r = static_cast<T*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  const T* __restrict y = static_cast<const T*>(py);
  const T* __restrict z = static_cast<const T*>(pz);
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) r[i] = Second::apply(First::apply(x[i], y[i]), z[i]);
}

template <class First, class T>
void fill_first(BlockFn (&row)[pair_second_count]) {
  row[second_add] = pair<First, Add, T>;
  row[second_sub] = pair<First, Sub, T>;
  row[second_sub_from] = pair<First, SubFrom, T>;
  row[second_mul] = pair<First, Mul, T>;
}

template <class T>
void fill_class(BlockFn (&rows)[pair_first_count][pair_second_count]) {
  fill_first<Add, T>(rows[first_add]);
  fill_first<Sub, T>(rows[first_sub]);
  fill_first<Mul, T>(rows[first_mul]);
}

}  // namespace

void WEFT_ISA_NAME(fill_pairs_)(KernelTable& table) {
  fill_class<float>(table.pair[0]);
  fill_class<double>(table.pair[1]);
}

}  // namespace weft::detail

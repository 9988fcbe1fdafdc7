// Casts, storage to compute class and back, strided moves.
#include "isa.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace weft::detail {
namespace {

// How values of a dtype are stored, and the class that they are computed in.
struct F16 {
  using Storage = wf_u16;
  using Class = float;
  static float load(wf_u16 s) { return wf_f16_to_f32(s); }
  static wf_u16 store(float x) { return wf_f32_to_f16(x); }
  template <class T> static float from(T x) { return wf_f16_to_f32(wf_to_f16(x)); }
};
struct BF16 {
  using Storage = wf_u16;
  using Class = float;
  static float load(wf_u16 s) { return wf_bf16_to_f32(s); }
  static wf_u16 store(float x) { return wf_f32_to_bf16(x); }
  template <class T> static float from(T x) { return wf_bf16_to_f32(wf_to_bf16(x)); }
};
#define WEFT_DTYPE(Name, StorageType, ClassType, cast_function)                       \
  struct Name {                                                                       \
    using Storage = StorageType;                                                      \
    using Class = ClassType;                                                          \
    static ClassType load(StorageType s) { return static_cast<ClassType>(s); }        \
    static StorageType store(ClassType x) { return static_cast<StorageType>(x); }     \
    template <class T> static ClassType from(T x) { return cast_function(x); }        \
  };
WEFT_DTYPE(F32, float, float, wf_to_f32)
WEFT_DTYPE(F64, double, double, wf_to_f64)
WEFT_DTYPE(I8, signed char, wf_i32, wf_to_i8)
WEFT_DTYPE(I32, wf_i32, wf_i32, wf_to_i32)
WEFT_DTYPE(I64, wf_i64, wf_i64, wf_to_i64)
WEFT_DTYPE(U8, unsigned char, wf_i32, wf_to_u8)
WEFT_DTYPE(Bool, unsigned char, wf_i32, wf_to_bool)

template <class D, class T>
void cast_block(void* result, const void* px, const void*, const void*) {
  typename D::Class* __restrict r = static_cast<typename D::Class*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) r[i] = D::from(x[i]);
}

template <class D>
void load_block(void* result, const void* px, const void*, const void*) {
  typename D::Class* __restrict r = static_cast<typename D::Class*>(result);
  const typename D::Storage* __restrict x = static_cast<const typename D::Storage*>(px);
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) r[i] = D::load(x[i]);
}

template <class D>
void store_block(void* result, const void* px, const void*, const void*) {
  typename D::Storage* __restrict r = static_cast<typename D::Storage*>(result);
  const typename D::Class* __restrict x = static_cast<const typename D::Class*>(px);
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) r[i] = D::store(x[i]);
}

template <class D>
void fill_dtype(KernelTable& table, int dtype) {
  table.load[dtype] = load_block<D>;
  table.store[dtype] = store_block<D>;
  table.cast[class_f32][dtype] = cast_block<D, float>;
  table.cast[class_f64][dtype] = cast_block<D, double>;
  table.cast[class_i32][dtype] = cast_block<D, wf_i32>;
  table.cast[class_i64][dtype] = cast_block<D, wf_i64>;
}

template <class T>
void gather(void* result, const void* px, int64_t stride, int64_t n) {
  T* __restrict r = static_cast<T*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  WEFT_EACH
  for (int64_t i = 0; i < n; ++i) r[i] = x[i * stride];
}

template <class T>
void scatter(void* result, int64_t stride, const void* px, int64_t n) {
  T* __restrict r = static_cast<T*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  WEFT_EACH
  for (int64_t i = 0; i < n; ++i) r[i * stride] = x[i];
}

template <class T>
void fill(void* result, const void* px, int64_t n) {
  T* __restrict r = static_cast<T*>(result);
  const T x = *static_cast<const T*>(px);
  WEFT_EACH
  for (int64_t i = 0; i < n; ++i) r[i] = x;
}

template <class T>
void fill_moves(KernelTable& table, int log2_size) {
  table.gather[log2_size] = gather<T>;
  table.scatter[log2_size] = scatter<T>;
  table.fill[log2_size] = fill<T>;
}

#if defined(__AVX512F__)
void stream(void* result, const void* x, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(static_cast<char*>(result) + i),
                        _mm512_loadu_si512(static_cast<const char*>(x) + i));
}
#elif defined(__AVX__)
void stream(void* result, const void* x, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(
        reinterpret_cast<__m256i*>(static_cast<char*>(result) + i),
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(static_cast<const char*>(x) + i)));
}
#elif defined(__SSE2__)
void stream(void* result, const void* x, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(
        reinterpret_cast<__m128i*>(static_cast<char*>(result) + i),
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const char*>(x) + i)));
}
#else
void stream(void* result, const void* x, size_t bytes) { __builtin_memcpy(result, x, bytes); }
#endif

void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace

void WEFT_ISA_NAME(fill_convert_)(KernelTable& table) {
  // In the order of DType.
  fill_dtype<F16>(table, 0);
  fill_dtype<BF16>(table, 1);
  fill_dtype<F32>(table, 2);
  fill_dtype<F64>(table, 3);
  fill_dtype<I8>(table, 4);
  fill_dtype<I32>(table, 5);
  fill_dtype<I64>(table, 6);
  fill_dtype<U8>(table, 7);
  fill_dtype<Bool>(table, 8);
  fill_moves<unsigned char>(table, 0);
  fill_moves<wf_u16>(table, 1);
  fill_moves<wf_u32>(table, 2);
  fill_moves<wf_u64>(table, 3);
  table.stream = stream;
  table.stream_fence = stream_fence;
}

}  // namespace weft::detail

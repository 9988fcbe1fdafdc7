// Data sets: IDX files, MNIST-like sets of labelled images, and batches of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <vector>

#include <weft/graph/device.h>
#include <weft/graph/error.h>
#include <weft/graph/tensor.h>

namespace weft::data {

/// Element type of an IDX file; the values are the format's own codes.
enum class IdxType : std::uint8_t {
  u8 = 0x08,
  i8 = 0x09,
  i16 = 0x0B,
  i32 = 0x0C,
  f32 = 0x0D,
  f64 = 0x0E
};

/// Bytes of one element.
std::size_t size_of(IdxType type) noexcept;

/// Contents of an IDX file: `bytes` holds the elements, row-major, in this machine's byte order.
struct IdxArray {
  IdxType type = IdxType::u8;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Reads an IDX file (the format of http://yann.lecun.com/exdb/mnist), plain or gzip, which its
/// first bytes decide. The declared size is checked against the file before memory is taken: a
/// plain file must have exactly that size, a gzip file must be large enough to unpack to it
/// (deflate gives at most 1032 bytes for one), and unpacking stops one byte past it.
/// FileError, naming the file and what is wrong with it, for anything else.
IdxArray read_idx(const std::filesystem::path& file, Where at = {});

struct MnistOptions {
  bool train = true;          ///< the files train-*, else t10k-*
  std::int64_t classes = 10;  ///< labels are 0 ... classes - 1; at most 256
};

/// A set of labelled images in MNIST's format, of any count and size. A handle: copies share it.
class Mnist {
 public:
  /// f32 [n,1,height,width], pixels divided by 255; on the CPU. Made at the first call.
  Tensor images() const;
  /// i64 [n]; on the CPU. Made at the first call.
  Tensor labels() const;
  std::int64_t size() const noexcept;
  std::int64_t height() const noexcept;
  std::int64_t width() const noexcept;
  /// The files' own bytes: grey levels, size() * height() * width() of them, and labels.
  std::span<const std::uint8_t> pixels() const noexcept;
  std::span<const std::uint8_t> label_bytes() const noexcept;

 private:
  struct State;
  explicit Mnist(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  friend Mnist mnist(const std::filesystem::path& dir, MnistOptions options, Where at);

  std::shared_ptr<State> state_;
};

/// Reads the set in folder `dir`: train-images-idx3-ubyte and train-labels-idx1-ubyte, or t10k-...,
/// each plain or with .gz at the end (plain is looked for first). FileError where a file is
/// missing or damaged, is not u8 of the right rank, where the counts differ, or where a label is
/// not below options.classes.
Mnist mnist(const std::filesystem::path& dir, MnistOptions options = {}, Where at = {});

struct LoaderOptions {
  std::int64_t batch = 32;
  bool shuffle = false;
  Device device = {};      ///< where the batches are made
  bool drop_last = false;  ///< leaves out a last batch that is not full
  std::uint64_t seed = 0;  ///< of the shuffles
};

struct Batch {
  Tensor images;
  Tensor labels;
};

/// Batches of a data set, which it owns: `for (auto [images, labels] : Loader(set, {.batch =
/// 64}))`. Rows are gathered on the host, when the iterator reaches them. Each begin() starts a new
/// epoch; with `shuffle` its order is a Fisher-Yates shuffle that depends only on the seed, on how
/// many epochs this loader (or its copies, which share the count) began before, and on the set's
/// size.
class Loader {
 public:
  class Iterator;

  /// ValueError where options.batch is not positive.
  Loader(Mnist set, LoaderOptions options = {}, Where at = {});
  /// Pairs inputs[i], targets[i] along the first axis. Both are read to the host here, which waits
  /// for them. ShapeError where either has no axes or their first extents differ.
  Loader(const Tensor& inputs, const Tensor& targets, LoaderOptions options = {}, Where at = {});

  Iterator begin();
  std::default_sentinel_t end() const noexcept { return {}; }
  /// Number of batches of an epoch.
  std::int64_t size() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Input iterator over the batches of one epoch. Keeps the data set alive.
class Loader::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  Batch& operator*() const noexcept { return *batch_; }
  Batch* operator->() const noexcept { return batch_.get(); }
  Iterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept {
    return it.batch_ == nullptr;
  }

 private:
  friend class Loader;
  Iterator(std::shared_ptr<State> state, std::vector<std::int64_t> order);
  void load();

  std::shared_ptr<State> state_;
  std::vector<std::int64_t> order_;
  std::size_t next_ = 0;
  std::shared_ptr<Batch> batch_;
};

}  // namespace weft::data

// Sets of labelled images in MNIST's four files.
#include <array>
#include <mutex>
#include <string>

#include <weft/graph/functions.h>
#include <weft/runtime/data.h>

namespace weft::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_file(const fs::path& file, const std::string& what, Where at) {
  detail::fail<FileError>(at, "mnist: " + file.string() + ": " + what);
}

fs::path find_file(const fs::path& dir, const std::string& name, Where at) {
  const fs::path plain = dir / name, packed = dir / (name + ".gz");
  for (const fs::path& file : {plain, packed})
    if (std::error_code error; fs::exists(file, error)) return file;
  fail_file(plain, "no such file, nor one with .gz at the end; give the folder that holds the set", at);
}

IdxArray read_bytes(const fs::path& file, std::size_t rank, Where at) {
  IdxArray array = read_idx(file, at);
  if (array.type != IdxType::u8 || array.shape.size() != rank)
    fail_file(file,
              "expected unsigned bytes with " + std::to_string(rank) + " dimensions, found type " +
                  std::to_string(static_cast<int>(array.type)) + " with " +
                  std::to_string(array.shape.size()),
              at);
  return array;
}

std::span<const std::uint8_t> as_u8(const IdxArray& array) {
  return {reinterpret_cast<const std::uint8_t*>(array.bytes.data()), array.bytes.size()};
}

}  // namespace

struct Mnist::State {
  IdxArray pixels, labels;
  std::once_flag images_made, labels_made;
  Tensor image_tensor, label_tensor;
};

Mnist mnist(const fs::path& dir, MnistOptions options, Where at) {
  if (options.classes < 1 || options.classes > 256)
    detail::fail<ValueError>(at, "mnist: classes must be 1 to 256, not " +
                                     std::to_string(options.classes));
  const std::string prefix = options.train ? "train" : "t10k";
  const fs::path image_file = find_file(dir, prefix + "-images-idx3-ubyte", at);
  const fs::path label_file = find_file(dir, prefix + "-labels-idx1-ubyte", at);
  auto state = std::make_shared<Mnist::State>();
  state->labels = read_bytes(label_file, 1, at);
  state->pixels = read_bytes(image_file, 3, at);
  if (state->pixels.shape[0] != state->labels.shape[0])
    fail_file(label_file,
              std::to_string(state->labels.shape[0]) + " labels, but " + image_file.string() +
                  " has " + std::to_string(state->pixels.shape[0]) + " images",
              at);
  const std::span<const std::uint8_t> labels = as_u8(state->labels);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] >= options.classes)
      fail_file(label_file,
                "label " + std::to_string(labels[i]) + " at index " + std::to_string(i) +
                    " is out of range: there are " + std::to_string(options.classes) + " classes",
                at);
  return Mnist(std::move(state));
}

Tensor Mnist::images() const {
  std::call_once(state_->images_made, [this] {
    std::vector<float> values;
    values.reserve(pixels().size());
    for (const std::uint8_t pixel : pixels()) values.push_back(static_cast<float>(pixel) / 255.0f);
    state_->image_tensor = from_span(std::span<const float>(values), {size(), 1, height(), width()},
                                     {.device = Device::cpu()});
  });
  return state_->image_tensor;
}

Tensor Mnist::labels() const {
  std::call_once(state_->labels_made, [this] {
    const std::vector<std::int64_t> values(label_bytes().begin(), label_bytes().end());
    state_->label_tensor =
        from_span(std::span<const std::int64_t>(values), {size()}, {.device = Device::cpu()});
  });
  return state_->label_tensor;
}

std::int64_t Mnist::size() const noexcept { return state_->pixels.shape[0]; }
std::int64_t Mnist::height() const noexcept { return state_->pixels.shape[1]; }
std::int64_t Mnist::width() const noexcept { return state_->pixels.shape[2]; }
std::span<const std::uint8_t> Mnist::pixels() const noexcept { return as_u8(state_->pixels); }
std::span<const std::uint8_t> Mnist::label_bytes() const noexcept { return as_u8(state_->labels); }

}  // namespace weft::data

// IDX files, good and damaged; MNIST-like sets; batches.
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"

namespace {

namespace fs = std::filesystem;
using namespace weft;
using Bytes = std::vector<std::uint8_t>;

fs::path sample_data() { return fs::path(WEFT_TESTS_DIR).parent_path() / "samples" / "data"; }

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "weft-data-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Bytes idx_bytes(std::uint8_t type, const std::vector<std::uint32_t>& extents,
                const Bytes& payload) {
  Bytes bytes = {0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()));
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The message of the FileError that reading gives; empty where it gives none.
std::string file_error(const fs::path& file) {
  try {
    data::read_idx(file);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::uint64_t sum_of(std::span<const std::uint8_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

Bytes ramp(std::size_t count) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

// Ten images of 2×3 pixels and their labels.
void write_set(const TemporaryFolder& folder, const Bytes& labels) {
  folder.write("train-images-idx3-ubyte", idx_bytes(8, {10, 2, 3}, ramp(60)));
  folder.write("train-labels-idx1-ubyte",
               idx_bytes(8, {static_cast<std::uint32_t>(labels.size())}, labels));
}

std::string mnist_error(const fs::path& dir, data::MnistOptions options = {}) {
  try {
    data::mnist(dir, options);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("idx: real digits, plain and gzip alike", "[data]") {
  const data::IdxArray images = data::read_idx(sample_data() / "train-images-idx3-ubyte.gz");
  CHECK(images.type == data::IdxType::u8);
  CHECK(images.shape == std::vector<std::int64_t>{8000, 28, 28});
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(images.bytes.data());
  CHECK(sum_of({pixels, images.bytes.size()}) == 209270795);
  CHECK(sum_of({pixels, 784}) == 35556);
  CHECK(sum_of({pixels + 7999 * 784, 784}) == 30782);

  TemporaryFolder folder;
  const fs::path plain =
      folder.write("plain", idx_bytes(8, {8000, 28, 28}, {pixels, pixels + images.bytes.size()}));
  const data::IdxArray again = data::read_idx(plain);
  CHECK(again.shape == images.shape);
  CHECK(again.bytes == images.bytes);
}

TEST_CASE("idx: every element type, in this machine's byte order", "[data]") {
  TemporaryFolder folder;
  const auto read = [&](std::uint8_t type, const Bytes& payload) {
    return data::read_idx(folder.write("typed", idx_bytes(type, {1}, payload)));
  };
  const auto value = []<class T>(T, const data::IdxArray& array) {
    REQUIRE(array.bytes.size() == sizeof(T));
    T result;
    std::memcpy(&result, array.bytes.data(), sizeof result);
    return result;
  };
  CHECK(value(std::uint8_t{}, read(0x08, {200})) == 200);
  CHECK(value(std::int8_t{}, read(0x09, {0xfe})) == -2);
  CHECK(value(std::int16_t{}, read(0x0B, {0xff, 0xfe})) == -2);
  CHECK(value(std::int32_t{}, read(0x0C, {0x01, 0x02, 0x03, 0x04})) == 0x01020304);
  CHECK(value(float{}, read(0x0D, {0x3f, 0xc0, 0, 0})) == 1.5f);
  CHECK(value(double{}, read(0x0E, {0xc0, 0x04, 0, 0, 0, 0, 0, 0})) == -2.5);
  CHECK(data::read_idx(folder.write("none", idx_bytes(8, {0, 28, 28}, {}))).bytes.empty());
}

TEST_CASE("idx: files that are cut short", "[data]") {
  TemporaryFolder folder;
  const Bytes plain = idx_bytes(8, {10, 2, 3}, ramp(60));
  const Bytes packed = gzip(plain);
  for (std::size_t length = 0; length < plain.size(); ++length) {
    INFO("plain, " << length << " bytes");
    CHECK(contains(file_error(folder.write("short", {plain.begin(), plain.begin() + long(length)})),
                   "truncated"));
  }
  for (std::size_t length = 2; length < packed.size(); ++length) {
    INFO("gzip, " << length << " bytes");
    CHECK(
        contains(file_error(folder.write("short", {packed.begin(), packed.begin() + long(length)})),
                 "truncated"));
  }
}

TEST_CASE("idx: files with too much, of another kind, or not there", "[data]") {
  TemporaryFolder folder;
  Bytes longer = idx_bytes(8, {10}, ramp(11));
  CHECK(contains(file_error(folder.write("f", longer)), "oversized"));
  CHECK(contains(file_error(folder.write("f", gzip(longer))), "oversized"));
  Bytes garbage = gzip(idx_bytes(8, {10}, ramp(10)));
  garbage.push_back(7);
  CHECK(contains(file_error(folder.write("f", garbage)), "oversized"));
  CHECK(contains(file_error(folder.write("f", {0, 1, 8, 1, 0, 0, 0, 0})), "wrong magic number"));
  CHECK(contains(file_error(folder.write("f", {0, 0, 0x0A, 1, 0, 0, 0, 0})), "type code 0x0a"));
  CHECK(contains(file_error(folder.path() / "absent"), "no such file"));
  CHECK(contains(file_error(folder.path()), "not a regular file"));
  CHECK(contains(file_error(folder.path() / "absent"), "absent"));
}

TEST_CASE("idx: a gzip file of two members is one file", "[data]") {
  TemporaryFolder folder;
  const Bytes plain = idx_bytes(8, {10}, ramp(10));
  Bytes packed = gzip({plain.begin(), plain.begin() + 9});
  const Bytes second = gzip({plain.begin() + 9, plain.end()});
  packed.insert(packed.end(), second.begin(), second.end());
  CHECK(data::read_idx(folder.write("two", packed)).bytes.size() == 10);
}

TEST_CASE("idx: sizes that the file cannot hold take no memory", "[data]") {
  TemporaryFolder folder;
  const long before = peak_kilobytes();
  const std::vector<std::vector<std::uint32_t>> claims = {
      {1u << 30},
      {0xffffffff},
      {1u << 20, 1u << 20},
      {0xffffffff, 0xffffffff},
      std::vector<std::uint32_t>(255, 2),
      std::vector<std::uint32_t>(255, 0xffffffff)};
  for (const auto& extents : claims)
    for (const std::uint8_t type : Bytes{0x08, 0x0E}) {
      const Bytes bytes = idx_bytes(type, extents, ramp(16));
      CHECK_FALSE(file_error(folder.write("claim", bytes)).empty());
      CHECK_FALSE(file_error(folder.write("claim", gzip(bytes))).empty());
    }
  // 32 MiB of zeros behind a header that declares 16 bytes: unpacking stops at the 17th.
  const Bytes bomb = gzip(idx_bytes(8, {16}, Bytes(std::size_t{1} << 25)));
  const long made = peak_kilobytes();
  CHECK(contains(file_error(folder.write("bomb", bomb)), "oversized"));
  CHECK(peak_kilobytes() - made < 8 * 1024);
  CHECK(made - before < 128 * 1024);
}

TEST_CASE("idx: a flipped bit gives a FileError or the same array", "[data]") {
  TemporaryFolder folder;
  const Bytes plain = idx_bytes(8, {10, 2, 3}, ramp(60));
  const Bytes packed = gzip(plain);
  const data::IdxArray right = data::read_idx(folder.write("right", packed));
  for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
    Bytes damaged = packed;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    INFO("bit " << bit);
    try {
      const data::IdxArray read = data::read_idx(folder.write("damaged", damaged));
      CHECK(read.shape == right.shape);
      CHECK(read.bytes == right.bytes);
    } catch (const FileError&) {
    }
  }
  for (std::size_t bit = 0; bit < 16 * 8; ++bit) {
    Bytes damaged = plain;
    damaged[bit / 8] = static_cast<std::uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
    INFO("header bit " << bit);
    const bool is_signed_bytes = bit == 2 * 8;
    CHECK(file_error(folder.write("damaged", damaged)).empty() == is_signed_bytes);
  }
}

TEST_CASE("mnist: the digits of the samples", "[data]") {
  const data::Mnist train = data::mnist(sample_data()),
                    test = data::mnist(sample_data(), {.train = false});
  CHECK(train.size() == 8000);
  CHECK(test.size() == 2000);
  CHECK(sum_of(test.pixels()) == 52875805);
  CHECK(sum_of(train.label_bytes()) == 35509);
  CHECK(sum_of(test.label_bytes()) == 8859);
  CHECK(train.images().shape() == Shape({8000, 1, 28, 28}));
  CHECK(train.images().dtype() == f32);
  CHECK(train.labels().shape() == Shape({8000}));
  CHECK(train.labels().dtype() == i64);
  const auto labels = train.labels().to_vector<int>();
  CHECK(std::vector<int>(labels.begin(), labels.begin() + 10) ==
        std::vector<int>{6, 4, 8, 8, 2, 7, 5, 5, 8, 8});
  const auto pixels = test.images().to_vector<float>();
  REQUIRE(pixels.size() == test.pixels().size());
  bool is_scaled = true;
  for (std::size_t i = 0; i < pixels.size(); ++i)
    is_scaled = is_scaled && pixels[i] == static_cast<float>(test.pixels()[i]) / 255.0f;
  CHECK(is_scaled);
}

TEST_CASE("mnist: sets that do not fit together", "[data]") {
  TemporaryFolder folder;
  CHECK(contains(mnist_error(folder.path()), "no such file"));
  write_set(folder, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(data::mnist(folder.path()).images().shape() == Shape({10, 1, 2, 3}));
  CHECK(contains(mnist_error(folder.path(), {.train = false}), "t10k-"));
  CHECK(contains(mnist_error(folder.path(), {.classes = 9}), "label 9 at index 9"));
  write_set(folder, {0, 1, 2, 3, 4, 5, 6, 7, 8, 10});
  CHECK(contains(mnist_error(folder.path()), "label 10 at index 9"));
  CHECK(mnist_error(folder.path(), {.classes = 11}).empty());
  write_set(folder, {0, 1, 2});
  CHECK(contains(mnist_error(folder.path()), "3 labels"));
  folder.write("train-labels-idx1-ubyte", idx_bytes(8, {10, 1}, ramp(10)));
  CHECK(contains(mnist_error(folder.path()), "1 dimensions"));
  folder.write("train-labels-idx1-ubyte", idx_bytes(9, {10}, ramp(10)));
  CHECK(contains(mnist_error(folder.path()), "unsigned bytes"));
  CHECK_THROWS_AS(data::mnist(folder.path(), {.classes = 0}), ValueError);
  try {
    data::mnist(folder.path(), {.classes = 257});
    FAIL("257 classes");
  } catch (const ValueError& error) {
    CHECK(std::string(error.file()) == __FILE__);
  }
}

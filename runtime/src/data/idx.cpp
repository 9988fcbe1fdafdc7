// IDX files: header, sizes and payload, from a plain or a gzip file.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include <weft/runtime/data.h>

namespace weft::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_payload_bytes = std::uint64_t{1} << 40;
// Deflate's own bound: a match of 258 bytes takes at least two bits.
constexpr std::uint64_t max_inflation = 1032;

struct Named {
  const fs::path& file;
  Where at;

  [[noreturn]] void fail(const std::string& what) const {
    detail::fail<FileError>(at, "read_idx: " + file.string() + ": " + what);
  }
};

// Bytes of the file after unpacking, in order.
class Source {
 public:
  virtual ~Source() = default;
  /// Fewer than asked for only where the data ends.
  virtual std::size_t read(std::byte* to, std::size_t count) = 0;
};

class PlainSource final : public Source {
 public:
  PlainSource(std::ifstream& in, const Named& named) : in_(in), named_(named) {}

  std::size_t read(std::byte* to, std::size_t count) override {
    in_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count));
    if (in_.bad()) named_.fail("cannot be read");
    return static_cast<std::size_t>(in_.gcount());
  }

 private:
  std::ifstream& in_;
  const Named& named_;
};

// Not zlib's gz functions: those pass over bytes that follow the last member.
class GzipSource final : public Source {
 public:
  GzipSource(std::ifstream& in, const Named& named) : packed_(in, named), named_(named) {
    constexpr int gzip_only = 16;
    if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) named_.fail("zlib did not start");
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::byte* to, std::size_t count) override {
    std::size_t done = 0;
    while (done < count && !at_end_) {
      const std::size_t piece = std::min<std::size_t>(count - done, std::size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(to + done);
      stream_.avail_out = static_cast<uInt>(piece);
      step();
      done += piece - stream_.avail_out;
    }
    return done;
  }

 private:
  void step() {
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) named_.fail("truncated: the gzip stream ends early");
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END)
      end_member();
    else if (result != Z_OK && result != Z_BUF_ERROR)
      named_.fail(std::string("damaged gzip data: ") + (stream_.msg ? stream_.msg : "no detail"));
  }

  // A gzip file may have several members; anything else after one is an error.
  void end_member() {
    if (stream_.avail_in == 0) refill();
    if (stream_.avail_in == 0) {
      at_end_ = true;
      return;
    }
    if (*stream_.next_in != 0x1f) named_.fail("oversized: bytes follow the gzip stream");
    inflateReset(&stream_);
  }

  void refill() {
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(
        packed_.read(reinterpret_cast<std::byte*>(buffer_.data()), buffer_.size()));
  }

  PlainSource packed_;
  const Named& named_;
  z_stream stream_{};
  std::array<Bytef, 1 << 16> buffer_;
  bool at_end_ = false;
};

std::optional<IdxType> type_of(std::byte code) {
  switch (const auto type = static_cast<IdxType>(code)) {
    case IdxType::u8:
    case IdxType::i8:
    case IdxType::i16:
    case IdxType::i32:
    case IdxType::f32:
    case IdxType::f64: return type;
  }
  return std::nullopt;
}

std::string hex(std::byte value) {
  constexpr char digits[] = "0123456789abcdef";
  const auto number = std::to_integer<unsigned>(value);
  return {'0', 'x', digits[number >> 4], digits[number & 15]};
}

std::uint64_t big_endian_u32(const std::byte* from) {
  std::uint64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

// Product of the extents and the element size, which never wraps: each factor is below 2^32 and
// the product so far at most 2^40, or the answer is already "too large".
std::uint64_t payload_bytes(const IdxArray& array, const Named& named) {
  if (std::ranges::find(array.shape, 0) != array.shape.end()) return 0;
  std::uint64_t total = size_of(array.type);
  for (const std::int64_t extent : array.shape) {
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor > max_payload_bytes / total)
      named.fail("oversized: its dimensions ask for more than 2^40 bytes");
    total *= factor;
  }
  return total;
}

void read_all(Source& source, std::byte* to, std::size_t count, const char* what,
              const Named& named) {
  const std::size_t got = source.read(to, count);
  if (got != count)
    named.fail("truncated: " + std::string(what) + " takes " + std::to_string(count) +
               " bytes, of which " + std::to_string(got) + " are there");
}

IdxArray read_header(Source& source, const Named& named) {
  std::array<std::byte, 4> magic{};
  read_all(source, magic.data(), magic.size(), "the magic number", named);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0})
    named.fail("wrong magic number: an IDX file starts with two zero bytes, this one with " +
               hex(magic[0]) + " " + hex(magic[1]));
  const std::optional<IdxType> type = type_of(magic[2]);
  if (!type)
    named.fail("unsupported type code " + hex(magic[2]) +
               "; known are 0x08 0x09 0x0b 0x0c 0x0d 0x0e");
  std::array<std::byte, 255 * 4> extents{};
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  read_all(source, extents.data(), rank * 4, "the list of dimensions", named);
  IdxArray array{*type, {}, {}};
  for (std::size_t i = 0; i < rank; ++i)
    array.shape.push_back(static_cast<std::int64_t>(big_endian_u32(extents.data() + 4 * i)));
  return array;
}

void to_host_order(IdxArray& array) {
  if constexpr (std::endian::native == std::endian::big) return;
  const auto width = static_cast<std::ptrdiff_t>(size_of(array.type));
  if (width == 1) return;
  for (auto at = array.bytes.begin(); at != array.bytes.end(); at += width)
    std::reverse(at, at + width);
}

}  // namespace

std::size_t size_of(IdxType type) noexcept {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8: return 1;
    case IdxType::i16: return 2;
    case IdxType::i32:
    case IdxType::f32: return 4;
    case IdxType::f64: return 8;
  }
  return 0;
}

IdxArray read_idx(const fs::path& file, Where at) {
  const Named named{file, at};
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) named.fail("no such file; check the path");
  if (!fs::is_regular_file(status)) named.fail("not a regular file");
  const std::uint64_t file_bytes = fs::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  if (error || !in) named.fail("cannot be opened");

  const bool is_gzip = in.get() == 0x1f && in.get() == 0x8b;
  in.clear();
  in.seekg(0);
  std::unique_ptr<Source> source;
  if (is_gzip)
    source = std::make_unique<GzipSource>(in, named);
  else
    source = std::make_unique<PlainSource>(in, named);

  IdxArray array = read_header(*source, named);
  const std::uint64_t payload = payload_bytes(array, named);
  const std::uint64_t header = 4 + 4 * array.shape.size();
  const std::string declared = "its dimensions ask for " + std::to_string(payload) + " bytes";
  if (!is_gzip && file_bytes < header + payload)
    named.fail("truncated: " + declared + ", " + std::to_string(file_bytes - header) + " follow");
  if (is_gzip && payload / max_inflation > file_bytes)
    named.fail("truncated: " + declared + ", more than a gzip file of " +
               std::to_string(file_bytes) + " bytes can hold");
  array.bytes.resize(payload);
  read_all(*source, array.bytes.data(), array.bytes.size(), "the payload", named);
  std::byte beyond;
  if (source->read(&beyond, 1) != 0) named.fail("oversized: " + declared + ", and more follow");
  to_host_order(array);
  return array;
}

}  // namespace weft::data

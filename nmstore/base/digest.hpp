// SHA-256 digests. The cryptographic digest is the only identity of content here: packages are untrusted, and a hash
// that can be collided would let one package replace another's files.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pfnm {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;

  [[nodiscard]] std::string to_hex() const;
  // Exactly 64 lower-case hexadecimal digits, else nothing.
  [[nodiscard]] static std::optional<Digest> parse(std::string_view hex);
};

// Streaming SHA-256. Not thread-safe; finish() may be called once.
class Hasher {
 public:
  Hasher();
  void update(std::string_view data);
  // Adds the length before the data, so that a sequence of fields has one reading.
  void update_field(std::string_view data);
  [[nodiscard]] Digest finish();

 private:
  alignas(16) std::array<std::byte, 128> state_{};  // a SHA256_CTX; checked in the .cpp
};

[[nodiscard]] Digest sha256(std::string_view data);

// The digest of a text file as git would store it: a UTF-8 byte order mark is dropped and CR LF is read as LF, so that
// a checkout with other line ends names the same install (SPEC 2.2, docs/decisions/0001).
[[nodiscard]] Digest sha256_text(std::string_view data);
// The same reading of the text, as bytes.
[[nodiscard]] std::string normalise_text(std::string_view data);

}  // namespace pfnm

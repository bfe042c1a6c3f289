// OpenSSL's low-level SHA-256 is deprecated in favour of EVP, but EVP loads the library's configuration and providers
// (milliseconds, and files read) before the first byte; the static front must answer in about one millisecond.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "nmstore/base/digest.hpp"

#include <openssl/sha.h>

#include <new>

namespace pfnm {
namespace {

static_assert(sizeof(SHA256_CTX) <= 128);
constexpr std::string_view k_hex = "0123456789abcdef";

SHA256_CTX* context_of(std::array<std::byte, 128>& state) {
  return std::launder(reinterpret_cast<SHA256_CTX*>(state.data()));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::to_hex() const {
  std::string text;
  text.reserve(64);
  for (const std::uint8_t byte : bytes) {
    text += k_hex[byte >> 4U];
    text += k_hex[byte & 15U];
  }
  return text;
}

std::optional<Digest> Digest::parse(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = hex_value(hex[2 * i]);
    const int low = hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

Hasher::Hasher() {
  auto* context = new (state_.data()) SHA256_CTX;
  SHA256_Init(context);
}

void Hasher::update(std::string_view data) { SHA256_Update(context_of(state_), data.data(), data.size()); }

void Hasher::update_field(std::string_view data) {
  std::array<char, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((data.size() >> (8 * i)) & 0xffU);
  update({length.data(), length.size()});
  update(data);
}

Digest Hasher::finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), context_of(state_));
  return digest;
}

Digest sha256(std::string_view data) {
  Hasher hasher;
  hasher.update(data);
  return hasher.finish();
}

std::string normalise_text(std::string_view data) {
  if (data.starts_with("\xEF\xBB\xBF")) data.remove_prefix(3);
  std::string text;
  text.reserve(data.size());
  while (!data.empty()) {
    const std::size_t at = data.find("\r\n");
    text += data.substr(0, at);
    if (at == std::string_view::npos) break;
    data.remove_prefix(at + 1);  // the LF starts the next piece
  }
  return text;
}

Digest sha256_text(std::string_view data) {
  if (data.starts_with("\xEF\xBB\xBF")) data.remove_prefix(3);
  Hasher hasher;
  while (!data.empty()) {
    const std::size_t at = data.find("\r\n");
    hasher.update(data.substr(0, at));
    if (at == std::string_view::npos) break;
    data.remove_prefix(at + 1);
  }
  return hasher.finish();
}

}  // namespace pfnm

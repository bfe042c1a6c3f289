// Just enough JSON to write one object from the front, which links no JSON library. Strings that are not UTF-8 come out
// with U+FFFD in place of what cannot be shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pfnm {

[[nodiscard]] std::string json_string(std::string_view text);

class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value);
  JsonObject& number(std::string_view key, std::uint64_t value);
  JsonObject& boolean(std::string_view key, bool value);  // NOLINT: the value is what is being written
  JsonObject& raw(std::string_view key, std::string_view json);
  JsonObject& texts(std::string_view key, const std::vector<std::string>& values);
  [[nodiscard]] std::string render() const { return "{" + body_ + "}"; }

 private:
  void key(std::string_view name);
  std::string body_;
};

[[nodiscard]] std::string json_array(const std::vector<std::string>& rendered);

}  // namespace pfnm

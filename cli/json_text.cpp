#include "cli/json_text.hpp"

#include <array>
#include <cstdio>

namespace pfnm {
namespace {

// Length of the UTF-8 sequence at the front, 0 where it is not one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if (first >= 0xE0 && first <= 0xEF) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  // Overlong forms, surrogates, and beyond U+10FFFF.
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

void append_escape(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    default: {
      std::array<char, 8> buffer{};
      std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(c));
      out += buffer.data();
    }
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    std::size_t used = 1;
    if (c >= 0x80) {
      used = sequence_length(text);
      if (used == 0) {
        out += "\xEF\xBF\xBD";
        used = 1;
      } else {
        out += text.substr(0, used);
      }
    } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
      append_escape(out, c);
    } else {
      out += static_cast<char>(c);
    }
    text.remove_prefix(used);
  }
  return out + "\"";
}

void JsonObject::key(std::string_view name) {
  if (!body_.empty()) body_ += ",";
  body_ += json_string(name) + ":";
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  key(name);
  body_ += json_string(value);
  return *this;
}

JsonObject& JsonObject::number(std::string_view name, std::uint64_t value) {
  key(name);
  body_ += std::to_string(value);
  return *this;
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) {
  key(name);
  body_ += value ? "true" : "false";
  return *this;
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  key(name);
  body_ += json;
  return *this;
}

JsonObject& JsonObject::texts(std::string_view name, const std::vector<std::string>& values) {
  std::vector<std::string> rendered;
  for (const std::string& value : values) rendered.push_back(json_string(value));
  return raw(name, json_array(rendered));
}

std::string json_array(const std::vector<std::string>& rendered) {
  std::string out = "[";
  for (const std::string& item : rendered) {
    if (out.size() > 1) out += ",";
    out += item;
  }
  return out + "]";
}

}  // namespace pfnm

#include "nmstore/store/line_file.hpp"

#include <charconv>

namespace pfnm {
namespace {

constexpr std::string_view k_hex = "0123456789ABCDEF";

void append_escaped(std::string& out, std::string_view field) {
  if (field.empty()) {
    out += '%';
    return;
  }
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || byte <= 0x20 || byte == 0x7f) {
      out += '%';
      out += k_hex[byte >> 4U];
      out += k_hex[byte & 15U];
    } else {
      out += c;
    }
  }
}

int hex_value(char c) {
  const auto at = k_hex.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::optional<std::string> unescape(std::string_view field) {
  if (field == "%") return std::string();
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '%') {
      text += field[i];
      continue;
    }
    if (i + 2 >= field.size()) return std::nullopt;
    const int high = hex_value(field[i + 1]);
    const int low = hex_value(field[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return text;
}

std::optional<Line> split(std::string_view line) {
  Line fields;
  while (true) {
    const auto space = line.find(' ');
    auto field = unescape(line.substr(0, space));
    if (!field) return std::nullopt;
    fields.push_back(std::move(*field));
    if (space == std::string_view::npos) return fields;
    line.remove_prefix(space + 1);
  }
}

}  // namespace

LineWriter::LineWriter(std::string_view what, int version) {
  text_ = "pfnm-" + std::string(what) + " " + std::to_string(version) + "\n";
}

void LineWriter::line(std::initializer_list<std::string_view> fields) {
  bool first = true;
  for (const std::string_view field : fields) {
    if (!first) text_ += ' ';
    first = false;
    append_escaped(text_, field);
  }
  text_ += '\n';
}

std::string LineWriter::finish() && { return std::move(text_) + "end\n"; }

Result<std::vector<Line>> parse_lines(std::string_view text, std::string_view what, int version,
                                      std::string_view shown_path) {
  const auto corrupt = [&](std::string_view why) {
    return fail(Error::make(Errc::corrupt, "read", shown_path, why));
  };
  const std::string head = "pfnm-" + std::string(what) + " " + std::to_string(version) + "\n";
  if (!text.starts_with(head)) return corrupt("not a pfnm " + std::string(what) + " file of this version");
  text.remove_prefix(head.size());
  std::vector<Line> lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    if (newline == std::string_view::npos) break;
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline + 1);
    if (line == "end" && text.empty()) return lines;
    auto fields = split(line);
    if (!fields) return corrupt("a field is not escaped as it must be");
    lines.push_back(std::move(*fields));
  }
  return corrupt("it is truncated");
}

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_i64(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace pfnm

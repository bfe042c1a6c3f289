// The text format of everything small that pfnm writes and the front must read without a JSON library: one item a
// line, fields separated by one space, a field's spaces, newlines and '%' as %XX; the first line is
// "pfnm-<what> <version>", the last is "end", so that a truncated file is never believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nmstore/base/result.hpp"

namespace pfnm {

class LineWriter {
 public:
  LineWriter(std::string_view what, int version);
  // An empty field is written as "%", which no escaped text can be.
  void line(std::initializer_list<std::string_view> fields);
  [[nodiscard]] std::string finish() &&;

 private:
  std::string text_;
};

using Line = std::vector<std::string>;

// The lines between the first and "end", split and unescaped. Errc::corrupt where the frame is not complete or is of
// another version or kind.
[[nodiscard]] Result<std::vector<Line>> parse_lines(std::string_view text, std::string_view what, int version,
                                                    std::string_view shown_path);

[[nodiscard]] std::optional<std::uint64_t> parse_u64(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_i64(std::string_view text);

}  // namespace pfnm

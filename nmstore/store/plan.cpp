#include "nmstore/store/plan.hpp"

#include <array>
#include <cstring>

namespace pfnm {
namespace {

constexpr std::string_view k_magic = "pfnmpln1";

void append_u32(std::string& out, std::uint32_t value) {
  std::array<char, 4> raw{};
  std::memcpy(raw.data(), &value, raw.size());
  out.append(raw.data(), raw.size());
}

void append_text(std::string& out, std::string_view text) {
  append_u32(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// Reads from the front; after the first overrun everything is empty and `ok` stays false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint32_t u32() {
    std::uint32_t value = 0;
    if (const auto raw = take(4); raw.size() == 4) std::memcpy(&value, raw.data(), 4);
    return value;
  }
  std::uint8_t u8() {
    const auto raw = take(1);
    return raw.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(raw[0]);
  }
  std::string text() { return std::string(take(u32())); }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

}  // namespace

std::string render_plan(const LayoutPlan& plan) {
  std::string out(k_magic);
  append_u32(out, static_cast<std::uint32_t>(plan.dirs.size()));
  for (const PlanDir& dir : plan.dirs) {
    append_text(out, dir.path);
    out += static_cast<char>(dir.kind);
    append_u32(out, static_cast<std::uint32_t>(dir.items.size()));
    for (const PlanItem& item : dir.items) {
      out += static_cast<char>(item.op);
      append_text(out, item.name);
      append_text(out, item.target);
      append_text(out, item.identity);
    }
  }
  return out;
}

Result<LayoutPlan> parse_plan(std::string_view bytes, std::string_view shown_path) {
  const auto corrupt = [&] { return fail(Error::make(Errc::corrupt, "read", shown_path, "it is not a whole plan")); };
  Reader reader(bytes);
  if (reader.take(k_magic.size()) != k_magic) return corrupt();
  LayoutPlan plan;
  const std::uint32_t dir_count = reader.u32();
  for (std::uint32_t d = 0; d < dir_count && reader.ok(); ++d) {
    PlanDir dir;
    dir.path = reader.text();
    dir.kind = reader.u8() == 0 ? PlanDirKind::managed : PlanDirKind::writable;
    const std::uint32_t item_count = reader.u32();
    for (std::uint32_t i = 0; i < item_count && reader.ok(); ++i) {
      PlanItem item;
      const std::uint8_t op = reader.u8();
      if (op > static_cast<std::uint8_t>(PlanOp::copy)) return corrupt();
      item.op = static_cast<PlanOp>(op);
      item.name = reader.text();
      item.target = reader.text();
      item.identity = reader.text();
      if (!is_plain_name(item.name)) return corrupt();
      dir.items.push_back(std::move(item));
    }
    plan.dirs.push_back(std::move(dir));
  }
  if (!reader.at_end() || plan.dirs.empty()) return corrupt();
  return plan;
}

}  // namespace pfnm

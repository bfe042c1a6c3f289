// Every name on disk inside the store, built and parsed here and nowhere else (docs/store-format.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pfnm {

// Directory name of an install: sha256 of the lock, then readable suffixes (SPEC 2.2).
struct InstallName {
  std::string text;
  auto operator<=>(const InstallName&) const = default;

  // 64 hexadecimal digits, then nothing or "-" and [A-Za-z0-9_-]+.
  [[nodiscard]] static std::optional<InstallName> parse(std::string_view text);
};

class StorePaths {
 public:
  explicit StorePaths(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string meta() const { return root_ + "/.pf"; }
  [[nodiscard]] std::string format_file() const { return meta() + "/format"; }
  [[nodiscard]] std::string install(const InstallName& name) const { return root_ + "/" + name.text; }
  [[nodiscard]] std::string seals() const { return meta() + "/seals"; }
  [[nodiscard]] std::string seal(const InstallName& name) const { return seals() + "/" + name.text; }
  [[nodiscard]] std::string locks() const { return meta() + "/locks"; }
  [[nodiscard]] std::string build_lock(const InstallName& name) const { return locks() + "/build-" + name.text; }
  [[nodiscard]] std::string build_slot(int slot) const { return locks() + "/slot-" + std::to_string(slot); }
  [[nodiscard]] std::string worktree_lock(std::string_view id) const {
    return locks() + "/worktree-" + std::string(id);
  }
  [[nodiscard]] std::string leases() const { return meta() + "/leases"; }
  [[nodiscard]] std::string lease(const InstallName& name) const { return leases() + "/" + name.text; }
  [[nodiscard]] std::string references() const { return meta() + "/references"; }
  [[nodiscard]] std::string reference(std::string_view id) const { return references() + "/" + std::string(id); }
  [[nodiscard]] std::string known_places() const { return meta() + "/known"; }
  [[nodiscard]] std::string gc_lock() const { return locks() + "/gc"; }
  [[nodiscard]] std::string probe() const { return meta() + "/probe"; }
  [[nodiscard]] std::string trash() const { return meta() + "/trash"; }
  [[nodiscard]] std::string new_installs() const { return meta() + "/new"; }
  [[nodiscard]] std::string logs() const { return meta() + "/logs"; }
  [[nodiscard]] std::string log(const InstallName& name) const { return logs() + "/" + name.text + ".log"; }
  [[nodiscard]] std::string approvals() const { return meta() + "/approvals"; }
  [[nodiscard]] std::string memos() const { return meta() + "/memo"; }
  [[nodiscard]] std::string memo(std::string_view kind, std::string_view id) const {
    return memos() + "/" + std::string(kind) + "-" + std::string(id);
  }

 private:
  std::string root_;
};

// Inside an install.
inline constexpr std::string_view k_install_meta = ".pf";
[[nodiscard]] inline std::string intent_file(const std::string& install) { return install + "/.pf/intent"; }
[[nodiscard]] inline std::string manifest_file(const std::string& install) { return install + "/.pf/manifest"; }
[[nodiscard]] inline std::string plan_file(const std::string& install) { return install + "/.pf/plan"; }
[[nodiscard]] inline std::string layout_lock_file(const std::string& install) {
  return install + "/.pf/package-lock.json";
}

// Inside a worktree's node_modules (SPEC 3.1, 3.2).
inline constexpr const char* k_marker = ".pf-shared";               // -> .pf/shared; created first
inline constexpr const char* k_record = ".worktree-provisioned";    // created when the layout stands
inline constexpr const char* k_hop_dir = ".pf";
inline constexpr const char* k_hop_seen = ".pf-dir";                // -> .pf; see layout_lock.cpp
inline constexpr const char* k_hop = ".pf/shared";                  // -> the install
inline constexpr const char* k_relink_intent = ".pf/intent";        // the former record, while a re-link runs
inline constexpr const char* k_aside_dir = ".pf-aside";             // what was in the way and is not ours to delete

}  // namespace pfnm

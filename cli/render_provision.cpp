#include "cli/render_provision.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "cli/json_text.hpp"

namespace pfnm {
namespace {

std::string short_name(const InstallName& name) { return name.text.substr(0, 12); }

std::string headline(const ProvisionReport& report) {
  const std::string install = "install " + short_name(report.name);
  switch (report.action) {
    case Action::built:
      return "built " + install + " and linked " + report.project + "\n";
    case Action::linked:
      return "linked " + report.project + " to " + install + "\n";
    case Action::relinked:
      return "relinked " + report.project + " to " + install + "\n";
    case Action::unchanged:
      return "unchanged " + report.project + " (" + install + ")\n";
    case Action::private_copy:
      break;
  }
  if (!report.copied) return "left " + report.project + " as it is: node_modules is a private copy\n";
  std::string text = "private copy of " + install + " in " + report.project + " (" +
                     std::to_string(report.copied->entries) + " entries, " + human_bytes(report.copied->bytes);
  if (report.copied->reflinked_bytes > 0)
    text += ", " + human_bytes(report.copied->reflinked_bytes) + " share their blocks";
  return text + ")\n";
}

std::string remarks(const ProvisionReport& report, const std::vector<std::pair<std::string, std::string>>& not_run) {
  std::string text;
  if (!report.aside.paths.empty()) {
    text += "pfnm: moved aside what pfnm did not make, to " + report.aside.directory + ":";
    for (std::size_t i = 0; i < report.aside.paths.size() && i < 5; ++i) text += " " + report.aside.paths[i];
    if (report.aside.paths.size() > 5) text += " and " + std::to_string(report.aside.paths.size() - 5) + " more";
    text += "\n";
  }
  if (!report.trashed.empty()) text += "pfnm: moved the former node_modules to " + report.trashed + "\n";
  if (!report.damaged.empty()) {
    const DamagedPath& first = report.damaged.front();
    text += "pfnm: install " + short_name(report.name) + " was tampered with: " + std::string(damage_word(first.damage)) +
            " " + first.path;
    if (report.damaged.size() > 1) text += " and " + std::to_string(report.damaged.size() - 1) + " more";
    text += "; pfnm install verify " + short_name(report.name) + " lists everything\n";
  }
  if (report.action == Action::private_copy && !report.copied)
    text += "pfnm: pfnm link --force makes it links again\n";
  if (!not_run.empty()) {
    text += "pfnm: lifecycle scripts of the project that were not run:";
    for (const auto& [directory, scripts] : not_run)
      text += (directory == "." ? " root: " : " " + directory + ": ") + scripts + ";";
    text += " pfnm.rootScripts=run would\n";
  }
  return text;
}

std::string as_json(std::string_view verb, const ProvisionReport& report,
                    const std::vector<std::pair<std::string, std::string>>& not_run) {
  JsonObject object;
  object.text("schema", "pfnm." + std::string(verb) + "/1")
      .text("worktree", report.project)
      .text("install", report.install)
      .text("key", report.name.text)
      .text("layout", layout_word(report.layout))
      .text("action", action_word(report.action))
      .boolean("intact", report.intact == Intact::yes)
      .texts("moved_aside", report.aside.paths);
  if (!report.aside.directory.empty()) object.text("aside", report.aside.directory);
  if (!report.trashed.empty()) object.text("trashed", report.trashed);
  std::vector<std::string> damaged;
  for (const DamagedPath& path : report.damaged)
    damaged.push_back(JsonObject().text("path", path.path).text("damage", damage_word(path.damage)).render());
  object.raw("tampered", json_array(damaged));
  if (report.copied) {
    object.number("entries", report.copied->entries)
        .number("bytes", report.copied->bytes)
        .number("reflinked_bytes", report.copied->reflinked_bytes);
  }
  std::vector<std::string> scripts;
  for (const auto& [directory, names] : not_run)
    scripts.push_back(JsonObject().text("directory", directory).text("scripts", names).render());
  object.raw("not_run", json_array(scripts));
  return object.render() + "\n";
}

bool write_stream(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> k_units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < k_units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, k_units[unit]);
  return text.data();
}

Rendered render_provision(std::string_view verb, OutputForm form, const ProvisionReport& report,
                          const std::vector<std::pair<std::string, std::string>>& not_run) {
  const bool first = report.action == Action::linked || report.action == Action::built ||
                     (report.action == Action::private_copy && report.copied.has_value());
  const std::vector<std::pair<std::string, std::string>> none;
  const auto& said = first ? not_run : none;
  if (form == OutputForm::json) return {as_json(verb, report, said), remarks(report, none)};
  return {headline(report), remarks(report, said)};
}

Rendered render_error(const Error& error) { return {"", "pfnm: " + error.message() + "\n"}; }

bool write_rendered(const Rendered& rendered) {
  std::ignore = write_stream(STDERR_FILENO, rendered.err);  // nobody to tell
  return write_stream(STDOUT_FILENO, rendered.out);
}

}  // namespace pfnm

#include "cli/commands.hpp"
#include "cli/json_text.hpp"

namespace pfnm {
namespace {

Result<std::vector<SettingRow>> survey_settings(const Session& session) {
  PFNM_TRY_ASSIGN(const GitCli git, session.git());
  PFNM_TRY_ASSIGN(const Worktree worktree, find_worktree(session.process.directory));
  return list_settings(git, worktree);
}

}  // namespace

ExitCode command_doctor_config(const Session& session, OutputForm form) {
  const auto rows = survey_settings(session);
  if (!rows.has_value()) return report_error(rows.error());
  std::string text;
  std::vector<std::string> settings;
  for (const SettingRow& row : *rows) {
    text += row.name + " = " + row.value + "   (" + row.origin + ")\n    " + row.help + "\n";
    settings.push_back(
        JsonObject().text("name", row.name).text("value", row.value).text("origin", row.origin).render());
  }
  if (form == OutputForm::text) return write_result({text, ""});
  JsonObject object;
  object.text("schema", "pfnm.doctor-config/1").raw("settings", json_array(settings));
  return write_result({object.render() + "\n", ""});
}

}  // namespace pfnm

#include "cli/render_gc.hpp"

#include "cli/json_text.hpp"
#include "cli/time_text.hpp"

namespace pfnm {
namespace {

std::string_view action_word(PlannedTrash::Action action) {
  switch (action) {
    case PlannedTrash::Action::wait:
      return "wait";
    case PlannedTrash::Action::remove:
      return "delete";
    case PlannedTrash::Action::settle:
      return "settle";
  }
  return "wait";
}

std::string time_or_null(std::int64_t seconds) { return seconds == 0 ? "null" : json_string(rfc3339(seconds)); }

std::string install_as_json(const PlannedInstall& install) {
  JsonObject object;
  object.text("key", install.facts.name.text)
      .text("verdict", verdict_word(install.judgement.verdict))
      .boolean("chosen", install.chosen == PlannedInstall::Chosen::yes)
      .texts("reasons", reason_texts(install.judgement))
      .number("bytes", install.facts.bytes)
      .number("entries", install.facts.entries)
      .raw("last_used", time_or_null(install.judgement.last_used))
      .raw("eligible_at", time_or_null(install.judgement.eligible_at));
  return object.render();
}

std::string trash_as_json(const PlannedTrash& planned) {
  JsonObject object;
  object.text("id", planned.item.id)
      .text("from", planned.item.from)
      .text("why", planned.item.why)
      .text("action", action_word(planned.action))
      .text("due_at", rfc3339(planned.due_at));
  return object.render();
}

std::string outcome_as_json(const GcOutcome& outcome) {
  JsonObject object;
  object.text("step", step_word(outcome.step))
      .text("subject", outcome.subject)
      .text("outcome", outcome.outcome)
      .text("detail", outcome.detail);
  return object.render();
}

template <typename T>
std::string json_list(const std::vector<T>& values, std::string (*render)(const T&)) {
  std::vector<std::string> rendered;
  for (const T& value : values) rendered.push_back(render(value));
  return json_array(rendered);
}

std::string blind_as_json(const BlindSpot& spot) {
  return JsonObject().text("what", spot.what).text("path", spot.path).text("why", spot.why).render();
}

std::string gc_as_json(const GcAnswer& answer) {
  JsonObject object;
  object.text("schema", "pfnm.gc/1")
      .text("store", answer.store)
      .boolean("applied", answer.applied == GcAnswer::Applied::yes)
      .raw("installs", json_list(answer.plan.installs, &install_as_json))
      .number("chosen", answer.plan.chosen)
      .number("chosen_bytes", answer.plan.chosen_bytes)
      .raw("trash", json_list(answer.plan.trash, &trash_as_json))
      .texts("unexplained", answer.plan.unexplained)
      .raw("blind", json_list(answer.plan.blind, &blind_as_json))
      .number("hidden_processes", answer.hidden_processes)
      .raw("outcomes", json_list(answer.report.outcomes, &outcome_as_json))
      .number("reclaimed", answer.report.reclaimed)
      .number("removed", answer.report.removed)
      .number("freed_bytes", answer.report.freed_bytes)
      .raw("stopped", answer.stopped.empty() ? "null" : json_string(answer.stopped))
      .text("why", answer.why);
  return object.render() + "\n";
}

std::string plan_in_words(const GcAnswer& answer) {
  std::string text;
  std::size_t kept = 0;
  for (const PlannedInstall& install : answer.plan.installs) {
    if (install.chosen == PlannedInstall::Chosen::no) {
      ++kept;
      continue;
    }
    text += "reclaim " + install.facts.name.text + "\n  " + human_bytes(install.facts.bytes) + ", " +
            install.judgement.reasons.front().text() + ", last used " +
            (install.judgement.last_used == 0 ? std::string("never") : rfc3339(install.judgement.last_used)) + "\n";
  }
  for (const PlannedTrash& planned : answer.plan.trash) {
    text += std::string(action_word(planned.action)) + " " + planned.item.id + "\n  from " + planned.item.from + ": " +
            planned.item.why;
    if (planned.action == PlannedTrash::Action::wait) text += "; kept until " + rfc3339(planned.due_at);
    text += "\n";
  }
  for (const std::string& name : answer.plan.unexplained)
    text += "unexplained " + name + "\n  no record says what it is: look at it in " + answer.store + "/.pf/trash\n";
  text += std::to_string(answer.plan.chosen) + " to reclaim (" + human_bytes(answer.plan.chosen_bytes) + "), " +
          std::to_string(kept) + " kept; pfnm install ls says why\n";
  return text;
}

std::string report_in_words(const GcAnswer& answer) {
  std::string text;
  for (const GcOutcome& outcome : answer.report.outcomes) {
    text += outcome.outcome + " " + outcome.subject;
    if (!outcome.detail.empty()) text += " (" + outcome.detail + ")";
    text += "\n";
  }
  text += std::to_string(answer.report.reclaimed) + " moved to the trash, " + std::to_string(answer.report.removed) +
          " deleted, " + human_bytes(answer.report.freed_bytes) + " freed\n";
  return text;
}

std::string blind_in_words(const GcAnswer& answer) {
  std::string text;
  for (const BlindSpot& spot : answer.plan.blind)
    text += "BLIND cannot read " + spot.what + " " + spot.path + ": " + spot.why + "\n";
  if (!text.empty()) text += "nothing is reclaimed while that is so\n";
  return text;
}

std::string entry_as_json(const LedgerEntry& entry) {
  JsonObject object;
  object.text("step", entry.step)
      .text("subject", entry.subject)
      .number("bytes", entry.bytes)
      .text("intended_at", rfc3339(entry.intended_at))
      .raw("ended_at", time_or_null(entry.ended_at))
      .text("outcome", entry.outcome)
      .text("detail", entry.detail);
  return object.render();
}

std::string run_as_json(const HistoryRun& history) {
  JsonObject object;
  object.text("store", history.run.store)
      .text("started_at", rfc3339(history.run.started_at))
      .raw("ended_at", time_or_null(history.run.ended_at))
      .text("result", history.run.result)
      .number("freed_bytes", history.run.freed_bytes)
      .raw("entries", json_list(history.entries, &entry_as_json));
  return object.render();
}

}  // namespace

std::vector<std::string> reason_texts(const Judgement& judgement) {
  std::vector<std::string> texts;
  for (const Reason& reason : judgement.reasons) texts.push_back(reason.text());
  return texts;
}

Rendered render_gc(const GcAnswer& answer, OutputForm form) {
  const bool stalled = answer.stopped.starts_with("fs-stall");
  std::string err = blind_in_words(answer);
  if (stalled) err += "BLIND why=" + answer.stopped + "\n";
  if (!answer.why.empty()) err += answer.why + "\n";
  if (form == OutputForm::json) return {gc_as_json(answer), err};
  std::string out = plan_in_words(answer);
  if (answer.applied == GcAnswer::Applied::yes) {
    out += report_in_words(answer);
  } else if (answer.stopped.empty() && answer.plan.blind.empty()) {
    out += "nothing was done: --apply does it\n";
  }
  return {std::move(out), std::move(err)};
}

Rendered render_history(const std::vector<HistoryRun>& runs, OutputForm form) {
  if (form == OutputForm::json) {
    JsonObject object;
    object.text("schema", "pfnm.gc-history/1").raw("runs", json_list(runs, &run_as_json));
    return {object.render() + "\n", ""};
  }
  std::string text;
  for (const HistoryRun& history : runs) {
    text += rfc3339(history.run.started_at) + "  " + (history.run.result.empty() ? "running, or interrupted" : history.run.result) +
            ", " + human_bytes(history.run.freed_bytes) + " freed\n";
    for (const LedgerEntry& entry : history.entries) {
      text += "  " + entry.step + " " + entry.subject + ": " + (entry.outcome.empty() ? "no outcome yet" : entry.outcome);
      if (!entry.detail.empty()) text += " (" + entry.detail + ")";
      text += "\n";
    }
  }
  if (text.empty()) text = "no run of gc --apply is on record\n";
  return {text, ""};
}

}  // namespace pfnm

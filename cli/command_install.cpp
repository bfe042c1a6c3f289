#include <fcntl.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/gc_scope.hpp"
#include "cli/json_text.hpp"
#include "cli/render_gc.hpp"
#include "cli/time_text.hpp"
#include "nmstore/build/trust.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

struct Listing {
  GcPlan plan;  // every install, with its verdict
  std::vector<Seal> seals;
  std::vector<std::string> foreign;

  [[nodiscard]] const Seal* seal_of(const InstallName& name) const {
    const auto same = [&](const Seal& seal) { return seal.install == name; };
    const auto found = std::find_if(seals.begin(), seals.end(), same);
    return found == seals.end() ? nullptr : &*found;
  }
};

Result<Listing> survey_listing(const Session& session, const Store& store) {
  PFNM_TRY_ASSIGN(const GitCli git, session.git());
  PFNM_TRY_ASSIGN(const GcSettings settings, read_gc_settings(git, session.process));
  const GcScope scope = survey_gc_scope({session.fs, store, git, settings, KeepMemos::in_background});
  Listing listing;
  listing.plan = plan_gc(survey_gc(store, scope), GcPolicy{}, seconds_now());
  const auto by_name = [](const PlannedInstall& a, const PlannedInstall& b) { return a.facts.name < b.facts.name; };
  std::sort(listing.plan.installs.begin(), listing.plan.installs.end(), by_name);
  for (const PlannedInstall& install : listing.plan.installs) {
    PFNM_TRY_ASSIGN(auto seal, find_seal(store.paths, install.facts.name));
    if (seal) listing.seals.push_back(std::move(*seal));
  }
  PFNM_TRY_ASSIGN(listing.foreign, foreign_entries(store));
  return listing;
}

std::vector<std::string> live_references(const InstallFacts& facts) {
  std::vector<std::string> references;
  for (const ReferenceFact& reference : facts.references)
    if (reference.liveness != Liveness::dead) references.push_back(reference.path);
  std::sort(references.begin(), references.end());
  return references;
}

std::vector<std::string> unsealed(const Listing& listing) {
  std::vector<std::string> names;
  for (const PlannedInstall& install : listing.plan.installs)
    if (install.facts.place == InstallFacts::Place::unsealed) names.push_back(install.facts.name.text);
  return names;
}

std::string sealed_as_json(const Store& store, const PlannedInstall& install, const Seal& seal) {
  JsonObject object;
  object.text("key", seal.install.text)
      .text("path", store.paths.install(seal.install))
      .text("sealed", rfc3339(seal.sealed_at))
      .boolean("synced", seal.synced == Synced::yes)
      .number("bytes", seal.bytes)
      .number("own_bytes", seal.bytes)
      .number("entries", seal.entries)
      .texts("references", live_references(install.facts))
      .raw("last_used", install.judgement.last_used == 0 ? "null" : json_string(rfc3339(install.judgement.last_used)))
      .text("verdict", verdict_word(install.judgement.verdict))
      .texts("reasons", reason_texts(install.judgement))
      .text("builder", seal.builder);
  return object.render();
}

std::string listing_as_json(const Store& store, const Listing& listing) {
  std::vector<std::string> installs;
  for (const PlannedInstall& install : listing.plan.installs)
    if (const Seal* seal = listing.seal_of(install.facts.name); seal != nullptr)
      installs.push_back(sealed_as_json(store, install, *seal));
  JsonObject object;
  object.text("schema", "pfnm.install-ls/1").text("store", store.paths.root()).raw("installs", json_array(installs));
  return object.texts("unsealed", unsealed(listing)).texts("foreign", listing.foreign).render() + "\n";
}

std::string listing_in_words(const Store& store, const Listing& listing) {
  std::string text;
  for (const PlannedInstall& install : listing.plan.installs) {
    const Seal* seal = listing.seal_of(install.facts.name);
    if (seal == nullptr) continue;
    text += seal->install.text + "\n  " + human_bytes(seal->bytes) + ", " + std::to_string(seal->entries) +
            " entries, sealed " + rfc3339(seal->sealed_at) + ", " + seal->builder + "\n  " +
            std::string(verdict_word(install.judgement.verdict)) + "\n";
    for (const std::string& reason : reason_texts(install.judgement)) text += "    " + reason + "\n";
  }
  for (const std::string& name : unsealed(listing)) text += name + "\n  not sealed: being built, or interrupted\n";
  for (const std::string& name : listing.foreign)
    text += store.paths.root() + "/" + name + "\n  foreign: pfnm did not make it and does not touch it\n";
  if (text.empty()) text = "no installs in " + store.paths.root() + "\n";
  return text;
}

// The sealed installs whose key starts so.
Result<std::vector<InstallName>> find_keys(const Store& store, const std::string& prefix) {
  PFNM_TRY_ASSIGN(const auto names, sealed_installs(store));
  std::vector<InstallName> found;
  for (const InstallName& name : names) {
    if (name.text == prefix) return std::vector<InstallName>{name};
    if (name.text.starts_with(prefix)) found.push_back(name);
  }
  if (found.empty())
    return fail(Error::make(Errc::bad_input, "find", "the install " + prefix, "no sealed install has that key",
                            "pfnm install ls lists them"));
  return found;
}

Result<Seal> get_seal(const Store& store, const InstallName& name) {
  PFNM_TRY_ASSIGN(auto seal, find_seal(store.paths, name));
  if (!seal) return fail(Error::make(Errc::bad_input, "find", "the install " + name.text, "it is not sealed"));
  return std::move(*seal);
}

Result<Rendered> explain(const Store& store, const InstallOptions& options) {
  PFNM_TRY_ASSIGN(const auto names, find_keys(store, options.key));
  std::string text;
  std::vector<std::string> rendered;
  for (const InstallName& name : names) {
    PFNM_TRY_ASSIGN(const Seal seal, get_seal(store, name));
    text += name.text + "\n";
    std::vector<std::string> items;
    for (const auto& [item, value] : seal.items) {
      text += "  " + item + ": " + value + "\n";
      items.push_back(JsonObject().text("name", item).text("value", value).render());
    }
    rendered.push_back(JsonObject()
                           .text("key", name.text)
                           .text("fingerprint", seal.fingerprint.to_hex())
                           .raw("items", json_array(items))
                           .render());
  }
  if (options.form == OutputForm::text) return Rendered{text, ""};
  JsonObject object;
  object.text("schema", "pfnm.install-why/1").raw("installs", json_array(rendered));
  return Rendered{object.render() + "\n", ""};
}

struct Verified {
  InstallName name;
  std::vector<DamagedPath> damaged;
};

Result<std::vector<Verified>> verify_all(const Session& session, const InstallOptions& options, Progress& progress) {
  PFNM_TRY_ASSIGN(const Store store, session.existing_store());
  std::vector<InstallName> names;
  if (options.all == InstallOptions::All::yes) {
    PFNM_TRY_ASSIGN(names, sealed_installs(store));
  } else {
    PFNM_TRY_ASSIGN(names, find_keys(store, options.key));
  }
  std::vector<Verified> verified;
  for (const InstallName& name : names) {
    PFNM_TRY_ASSIGN(const FileLock lease, take_lease(session.fs, store, name));
    PFNM_TRY_ASSIGN(const Seal seal, get_seal(store, name));
    progress.note("verifying " + name.text.substr(0, 12));
    PFNM_TRY_ASSIGN(const ManifestView manifest, ManifestView::open(manifest_file(store.paths.install(name))));
    Verified result{name, {}};
    if (checksum(manifest.bytes()) != seal.manifest_checksum)
      result.damaged.push_back({".pf/manifest", Damage::changed});
    const auto on_progress = [&](const VerifyProgress& done) {
      progress.count(done.entries_done, seal.entries, "entries");
    };
    PFNM_TRY_ASSIGN(auto damaged, verify_install(store.paths.install(name), manifest, on_progress));
    result.damaged.insert(result.damaged.end(), damaged.begin(), damaged.end());
    PFNM_TRY_ASSIGN(const std::string plan, read_file(AT_FDCWD, plan_file(store.paths.install(name))));
    if (checksum(plan) != seal.plan_checksum) result.damaged.push_back({".pf/plan", Damage::changed});
    verified.push_back(std::move(result));
  }
  return verified;
}

Rendered render_verified(const std::vector<Verified>& verified, OutputForm form) {
  std::string text;
  std::vector<std::string> installs;
  for (const Verified& install : verified) {
    std::vector<std::string> damaged;
    text += install.name.text + (install.damaged.empty() ? ": whole\n" : ":\n");
    for (const DamagedPath& path : install.damaged) {
      text.append("  ").append(damage_word(path.damage)).append(" ").append(path.path).append("\n");
      damaged.push_back(JsonObject().text("path", path.path).text("damage", damage_word(path.damage)).render());
    }
    installs.push_back(JsonObject().text("key", install.name.text).raw("damaged", json_array(damaged)).render());
  }
  if (form == OutputForm::text) return {text, ""};
  JsonObject object;
  object.text("schema", "pfnm.install-verify/1").raw("installs", json_array(installs));
  return {object.render() + "\n", ""};
}

Result<LeasedInstall> build(const Session& session, const InstallOptions& options, std::string& path) {
  Progress progress(2);
  PFNM_TRY_ASSIGN(Target target, find_target(session, options.directory));
  target.settings.anew = options.anew;
  PFNM_TRY_ASSIGN(LeasedInstall leased, ensure_leased(session, target, progress));
  PFNM_TRY(approve(session.fs, target.store, approvable_items(target.resolution)));
  path = target.store.paths.install(leased.ensured.name);
  return leased;
}

}  // namespace

ExitCode command_install_ls(const Session& session, const InstallOptions& options) {
  const auto store = session.existing_store();
  if (!store.has_value()) {
    if (store.error().code != Errc::not_found || !options.key.empty()) return report_error(store.error());
    const std::string root = session.process.store_root().value_or("");
    if (options.form == OutputForm::text) return write_result({"no store at " + root + " yet\n", ""});
    return write_result({listing_as_json(Store{StorePaths(root)}, {}), ""});
  }
  if (!options.key.empty()) {
    const auto explained = explain(*store, options);
    if (!explained.has_value()) return report_error(explained.error());
    return write_result(*explained);
  }
  const auto listing = survey_listing(session, *store);
  if (!listing.has_value()) return report_error(listing.error());
  return write_result({options.form == OutputForm::json ? listing_as_json(*store, *listing)
                                                        : listing_in_words(*store, *listing),
                       ""});
}

ExitCode command_install_build(const Session& session, const InstallOptions& options) {
  std::string path;
  const auto leased = build(session, options, path);
  if (!leased.has_value()) return report_error(leased.error());
  const EnsuredInstall& ensured = leased->ensured;
  const bool built = ensured.origin == InstallOrigin::built;
  if (options.form == OutputForm::text) {
    const std::string word = built ? "built " : "found ";
    return write_result({word + ensured.name.text + " (" + std::to_string(ensured.seal.entries) + " entries, " +
                             human_bytes(ensured.seal.bytes) + ")\n",
                         ""});
  }
  JsonObject object;
  object.text("schema", "pfnm.install-build/1")
      .text("key", ensured.name.text)
      .text("install", path)
      .text("action", built ? "built" : "unchanged")
      .number("bytes", ensured.seal.bytes)
      .number("entries", ensured.seal.entries);
  return write_result({object.render() + "\n", ""});
}

ExitCode command_install_verify(const Session& session, const InstallOptions& options) {
  if (options.key.empty() && options.all == InstallOptions::All::no)
    return report_error(Error::make(Errc::usage, "verify", "", "name a key, or --all"));
  Result<std::vector<Verified>> verified = std::vector<Verified>{};
  {
    Progress progress(2);
    verified = verify_all(session, options, progress);
  }
  if (!verified.has_value()) return report_error(verified.error());
  const ExitCode written = write_result(render_verified(*verified, options.form));
  const bool whole = std::all_of(verified->begin(), verified->end(), [](const Verified& v) { return v.damaged.empty(); });
  return whole ? written : ExitCode::error;
}

}  // namespace pfnm

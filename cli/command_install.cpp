#include <fcntl.h>
#include <time.h>

#include <algorithm>
#include <array>

#include "cli/commands.hpp"
#include "cli/json_text.hpp"
#include "nmstore/build/trust.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/reference.hpp"

namespace pfnm {
namespace {

std::string rfc3339(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::ignore = ::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

struct ListedInstall {
  Seal seal;
  std::vector<std::string> references;  // projects that use it, as far as their records and markers say
  enum class Use { used, unused, unknown } use = Use::unused;
};

struct Listing {
  std::vector<ListedInstall> installs;
  std::vector<std::string> unsealed;  // builds that are running or were interrupted
  std::vector<std::string> foreign;
};

void add_references(const Store& store, const std::vector<Reference>& references, ListedInstall& install) {
  for (const Reference& reference : references) {
    if (reference.install != install.seal.install) continue;
    switch (survey_reference(store, reference)) {
      case ReferenceState::live:
        install.use = ListedInstall::Use::used;
        break;
      case ReferenceState::unknown:
        if (install.use == ListedInstall::Use::unused) install.use = ListedInstall::Use::unknown;
        break;
      case ReferenceState::dead:
        continue;
    }
    install.references.push_back(reference.project);
  }
  std::sort(install.references.begin(), install.references.end());
}

Result<Listing> survey_installs(const Store& store) {
  Listing listing;
  PFNM_TRY_ASSIGN(const auto references, list_references(store));
  PFNM_TRY_ASSIGN(const auto names, sealed_installs(store));
  for (const InstallName& name : names) {
    PFNM_TRY_ASSIGN(auto seal, find_seal(store.paths, name));
    if (!seal) continue;
    ListedInstall install{std::move(*seal), {}, ListedInstall::Use::unused};
    add_references(store, references, install);
    listing.installs.push_back(std::move(install));
  }
  PFNM_TRY_ASSIGN(listing.foreign, foreign_entries(store));
  PFNM_TRY_ASSIGN(const auto entries, list_dir_at(AT_FDCWD, store.paths.root()));
  for (const DirEntry& entry : entries) {
    const auto name = InstallName::parse(entry.name);
    if (!name || std::find(listing.foreign.begin(), listing.foreign.end(), entry.name) != listing.foreign.end())
      continue;
    PFNM_TRY_ASSIGN(const auto seal, find_stat(AT_FDCWD, store.paths.seal(*name)));
    if (!seal) listing.unsealed.push_back(entry.name);
  }
  return listing;
}

std::string_view use_reason(ListedInstall::Use use) {
  switch (use) {
    case ListedInstall::Use::used:
      return "referenced";
    case ListedInstall::Use::unknown:
      return "a reference cannot be read";
    case ListedInstall::Use::unused:
      break;
  }
  return "unreferenced; nothing is reclaimed by this version";
}

std::string listing_as_json(const Store& store, const Listing& listing) {
  std::vector<std::string> installs;
  for (const ListedInstall& install : listing.installs) {
    JsonObject object;
    object.text("key", install.seal.install.text)
        .text("path", store.paths.install(install.seal.install))
        .text("sealed", rfc3339(install.seal.sealed_at))
        .boolean("synced", install.seal.synced == Synced::yes)
        .number("bytes", install.seal.bytes)
        .number("own_bytes", install.seal.bytes)
        .number("entries", install.seal.entries)
        .texts("references", install.references)
        .text("verdict", "keep")
        .texts("reasons", {std::string(use_reason(install.use))})
        .text("builder", install.seal.builder);
    installs.push_back(object.render());
  }
  JsonObject object;
  object.text("schema", "pfnm.install-ls/1").text("store", store.paths.root()).raw("installs", json_array(installs));
  return object.texts("unsealed", listing.unsealed).texts("foreign", listing.foreign).render() + "\n";
}

std::string listing_in_words(const Store& store, const Listing& listing) {
  std::string text;
  for (const ListedInstall& install : listing.installs) {
    text += install.seal.install.text + "\n  " + human_bytes(install.seal.bytes) + ", " +
            std::to_string(install.seal.entries) + " entries, sealed " + rfc3339(install.seal.sealed_at) + ", " +
            install.seal.builder + "\n";
    text += "  " + std::string(use_reason(install.use));
    for (const std::string& project : install.references) text += "\n    " + project;
    text += "\n";
  }
  for (const std::string& name : listing.unsealed) text += name + "\n  not sealed: being built, or interrupted\n";
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
  const auto listing = survey_installs(*store);
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

#include "nmstore/build/toolchain.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "nmstore/platform/process.hpp"
#include "nmstore/platform/read.hpp"
#include "nmstore/store/line_file.hpp"

namespace pfnm {
namespace {

constexpr std::string_view k_node_question =
    "const r=process.report&&(process.report.excludeNetwork=true,process.report.getReport().header);"
    "console.log([process.versions.node,process.versions.modules,process.platform,process.arch,"
    "(r&&r.glibcVersionRuntime)||'',process.execPath].join('\\n'))";

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    lines.emplace_back(text.substr(0, newline));
    text = newline == std::string_view::npos ? std::string_view{} : text.substr(newline + 1);
  }
  return lines;
}

tl::unexpected<Error> child_failed(std::string_view operation, const std::string& program, const ChildResult& result) {
  std::string reason = "it exited with " + std::to_string(result.exit_code);
  if (const auto lines = split_lines(result.err); !lines.empty()) reason += ": " + lines.front();
  return fail(Error::make(Errc::failed_child, operation, program, reason));
}

Result<ChildResult> ask(const std::vector<std::string>& argv, const std::string& directory,
                        const std::vector<std::string>& environment) {
  ChildSpec spec;
  spec.argv = argv;
  spec.environment = environment;
  spec.directory = directory;
  spec.time_limit = std::chrono::seconds(60);
  PFNM_TRY_ASSIGN(ChildResult result, run_child(spec));
  if (!result.ok()) return child_failed("ask", argv[0], result);
  return result;
}

Status ask_node(const Programs& programs, const std::string& directory, const std::vector<std::string>& environment,
                ToolchainFacts& facts) {
  PFNM_TRY_ASSIGN(const ChildResult result,
                  ask({programs.node.path, "-e", std::string(k_node_question)}, directory, environment));
  const auto lines = split_lines(result.out);
  if (lines.size() != 6) return child_failed("understand", programs.node.path, result);
  facts.toolchain.node_version = lines[0];
  facts.toolchain.modules_abi = lines[1];
  facts.toolchain.platform = lines[2];
  facts.toolchain.arch = lines[3];
  if (lines[2] == "linux") facts.toolchain.libc = lines[4].empty() ? "musl" : "glibc";
  const auto named = real_path(programs.node.path);
  const auto running = real_path(lines[5]);
  facts.shim = named.has_value() && running.has_value() && *named == *running ? Shim::no : Shim::yes;
  return {};
}

Status ask_npm(const Programs& programs, const std::string& directory, const std::vector<std::string>& environment,
               ToolchainFacts& facts) {
  PFNM_TRY_ASSIGN(const ChildResult version, ask({programs.npm.path, "--version"}, directory, environment));
  const auto lines = split_lines(version.out);
  if (lines.empty()) return child_failed("understand", programs.npm.path, version);
  facts.toolchain.npm_version = lines.front();
  // In "/", so that no project's .npmrc answers.
  PFNM_TRY_ASSIGN(const ChildResult config,
                  ask({programs.npm.path, "config", "get", "userconfig", "globalconfig"}, "/", environment));
  for (const std::string& line : split_lines(config.out)) {
    if (line.starts_with("userconfig=")) facts.user_npmrc = line.substr(11);
    if (line.starts_with("globalconfig=")) facts.global_npmrc = line.substr(13);
  }
  // .../npm/bin/npm-cli.js -> .../npm/npmrc
  if (const auto real = real_path(programs.npm.path); real.has_value()) {
    const auto bin = real->rfind("/bin/");
    if (bin != std::string::npos) facts.builtin_npmrc = real->substr(0, bin) + "/npmrc";
  }
  return {};
}

std::string render_facts(const ToolchainFacts& facts) {
  LineWriter out("toolchain", 1);
  const Toolchain& t = facts.toolchain;
  out.line({"versions", t.node_version, t.modules_abi, t.platform, t.arch, t.libc, t.npm_version});
  out.line({"npmrc", facts.user_npmrc, facts.global_npmrc, facts.builtin_npmrc});
  return std::move(out).finish();
}

std::optional<ToolchainFacts> parse_facts(const std::string& text) {
  const auto lines = parse_lines(text, "toolchain", 1, "");
  if (!lines.has_value() || lines->size() != 2 || (*lines)[0].size() != 7 || (*lines)[1].size() != 4)
    return std::nullopt;
  const Line& v = (*lines)[0];
  const Line& n = (*lines)[1];
  ToolchainFacts facts;
  facts.toolchain = {v[1], v[2], v[3], v[4], v[5], v[6]};
  facts.user_npmrc = n[1];
  facts.global_npmrc = n[2];
  facts.builtin_npmrc = n[3];
  return facts;
}

std::string memo_id(const Programs& programs, const std::vector<std::string>& environment) {
  Hasher hasher;
  for (const ProgramIdentity* program : {&programs.node, &programs.npm}) {
    hasher.update_field(program->path);
    hasher.update_field(std::to_string(program->dev) + " " + std::to_string(program->ino) + " " +
                        std::to_string(program->mtime_ns));
  }
  for (const char* name : {"HOME", "npm_config_userconfig", "NPM_CONFIG_USERCONFIG", "npm_config_globalconfig",
                           "NPM_CONFIG_GLOBALCONFIG", "npm_config_prefix", "PREFIX"})
    hasher.update_field(find_variable(environment, name));
  return hasher.finish().to_hex();
}

// npm_config_* that say where and how to fetch, not what to install.
bool is_fetch_setting(std::string_view name) {
  static constexpr std::array<std::string_view, 17> k_names = {
      "registry", "cache", "proxy", "https_proxy", "http_proxy", "noproxy", "cafile", "ca", "cert", "key",
      "strict_ssl", "userconfig", "globalconfig", "prefix", "offline", "prefer_offline", "maxsockets"};
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!lower.starts_with("npm_config_")) return false;
  const std::string_view key = std::string_view(lower).substr(11);
  // "//host/:_authToken" and friends cannot be spelled in most shells, but CI systems do it.
  return key.starts_with("fetch_") || key.starts_with("//") ||
         std::find(k_names.begin(), k_names.end(), key) != k_names.end();
}

bool is_passed(std::string_view name) {
  static constexpr std::array<std::string_view, 26> k_names = {
      "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TMP", "TEMP", "TZ", "TERM", "SHELL", "SSH_AUTH_SOCK",
      "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "all_proxy",
      "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SYSTEMROOT",
      "DEVELOPER_DIR"};
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end() || name.starts_with("LC_") ||
         is_fetch_setting(name);
}

}  // namespace

std::string find_variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

Result<Programs> find_toolchain(const std::string& path_variable) {
  Programs programs;
  for (const auto& [name, program] : {std::pair{"node", &programs.node}, std::pair{"npm", &programs.npm}}) {
    const auto path = find_program(name, path_variable);
    if (!path) {
      return fail(Error::make(Errc::bad_input, "find", name, "it is not on PATH",
                              "install Node.js with npm, or put it on PATH"));
    }
    PFNM_TRY_ASSIGN(*program, identify_program(*path));
  }
  return programs;
}

Result<ToolchainFacts> survey_toolchain(const Fs& fs, const Store& store, const Programs& programs,
                                        const std::string& directory,
                                        const std::vector<std::string>& environment) {
  const std::string memo = store.paths.memo("toolchain", memo_id(programs, environment));
  PFNM_TRY_ASSIGN(const auto known, find_file(AT_FDCWD, memo));
  if (known)
    if (auto facts = parse_facts(*known)) return *facts;
  ToolchainFacts facts;
  PFNM_TRY(ask_node(programs, directory, environment, facts));
  PFNM_TRY(ask_npm(programs, directory, environment, facts));
  if (facts.shim == Shim::no) PFNM_TRY(fs.write_file(AT_FDCWD, memo, render_facts(facts), 0600));
  return facts;
}

std::vector<std::string> npm_environment(const std::vector<std::string>& environment, const ProgramIdentity& node,
                                         const std::vector<std::string>& referenced) {
  std::vector<std::string> clean;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (is_passed(name) || std::find(referenced.begin(), referenced.end(), name) != referenced.end())
      clean.push_back(entry);
  }
  // npm is a script that asks PATH for node: it must get the one the key was computed for.
  clean.push_back("PATH=" + node.path.substr(0, node.path.find_last_of('/')) + ":" +
                  find_variable(environment, "PATH"));
  clean.insert(clean.end(), {"HUSKY=0", "npm_config_audit=false", "npm_config_fund=false",
                             "npm_config_update_notifier=false", "npm_config_progress=false"});
  return clean;
}

}  // namespace pfnm

#include "cli/process_context.hpp"

#include <unistd.h>

#include <climits>

namespace pfnm {

std::string ProcessContext::variable(std::string_view name) const {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

Result<std::string> ProcessContext::store_root() const {
  std::string root = variable("PFNM_STORE");
  if (root.empty()) {
    const std::string home = variable("HOME");
    if (home.empty()) {
      return fail(Error::make(Errc::usage, "find", "the store", "neither PFNM_STORE nor HOME is set",
                              "set PFNM_STORE to a directory"));
    }
    root = home + "/.cache/pf-node-modules";
  }
  if (!root.starts_with('/')) root = directory + "/" + root;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return root;
}

ProcessContext survey_process(char** environment) {
  ProcessContext context;
  for (char** entry = environment; *entry != nullptr; ++entry) context.environment.emplace_back(*entry);
  std::string buffer(PATH_MAX, '\0');
  context.directory = ::getcwd(buffer.data(), buffer.size()) == nullptr ? "/" : buffer.c_str();
  return context;
}

}  // namespace pfnm

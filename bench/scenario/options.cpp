#include "bench/scenario/options.hpp"

#include <map>

#include "nmstore/store/line_file.hpp"

namespace pfnm::bench {

std::string_view usage_text() {
  return "usage: bench_create --dir DIRECTORY [--project DIRECTORY] [--store DIRECTORY] [--bin DIRECTORY]\n"
         "                    [--json FILE] [--rounds N] [--hook-rounds N] [--copy-rounds N] [--npm-rounds N]\n"
         "                    [--packages N] [--files-per-package N]\n";
}

Result<std::optional<CreateOptions>> parse_options(const std::vector<std::string>& arguments) {
  CreateOptions options;
  const std::map<std::string, std::string*> texts{{"--dir", &options.directory},
                                                  {"--project", &options.project},
                                                  {"--store", &options.store},
                                                  {"--bin", &options.bin},
                                                  {"--json", &options.json}};
  const std::map<std::string, std::size_t*> numbers{
      {"--rounds", &options.rounds},           {"--hook-rounds", &options.hook_rounds},
      {"--copy-rounds", &options.copy_rounds}, {"--npm-rounds", &options.npm_rounds},
      {"--packages", &options.packages},       {"--files-per-package", &options.files_per_package}};
  const auto bad = [](const std::string& what) {
    return fail(Error::make(Errc::usage, "read", "the arguments", what));
  };
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (name == "--help" || name == "-h") return std::optional<CreateOptions>{};
    if (i + 1 == arguments.size()) return bad(name + " needs a value");
    const std::string& value = arguments[i + 1];
    if (const auto text = texts.find(name); text != texts.end()) {
      *text->second = value;
    } else if (const auto number = numbers.find(name); number != numbers.end()) {
      const auto parsed = parse_u64(value);
      if (!parsed) return bad(name + " needs a number");
      *number->second = *parsed;
    } else {
      return bad("there is no " + name);
    }
  }
  if (options.directory.empty()) return bad("--dir is missing");
  if (options.rounds == 0 || options.packages == 0) return bad("--rounds and --packages must be 1 or more");
  return std::optional<CreateOptions>{std::move(options)};
}

}  // namespace pfnm::bench

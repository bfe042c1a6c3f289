#include <algorithm>
#include <array>
#include <set>

#include "nmstore/lock/package_manifest.hpp"

namespace pfnm {

namespace {

using Words = std::vector<std::string>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Splits a POSIX shell script into simple commands, as far as finding a command's name and arguments needs it:
// quotes and backslashes are removed, $variables stay, redirections go. Not a shell: nothing is evaluated.
class CommandSplitter {
 public:
  explicit CommandSplitter(std::string_view text) : text_(text) {}

  std::vector<Words> split() {
    for (; at_ < text_.size(); ++at_) step(text_[at_]);
    end_command();
    return std::move(commands_);
  }

 private:
  void step(char c) {
    if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      if (text_[++at_] != '\n') add(text_[at_]);
    } else if (c == '#' && !in_word_) {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '>' || c == '<') {
      redirection();
    } else if (is_one_of({&c, 1}, {"&", "|", ";", "\n", "(", ")"})) {
      end_command();
    } else if (is_one_of({&c, 1}, {" ", "\t", "\r"})) {
      end_word();
    } else {
      add(c);
    }
  }

  void quoted(char quote) {
    in_word_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escape = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                          is_one_of(text_.substr(at_ + 1, 1), {"\"", "\\", "$", "`"});
      if (escape) ++at_;
      word_ += text_[at_];
    }
  }

  // Drops a file descriptor in front ("2>&1"), the operator, and leaves the target to be dropped as a word.
  void redirection() {
    if (std::all_of(word_.begin(), word_.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      word_.clear();
      in_word_ = false;
    }
    end_word();
    while (at_ + 1 < text_.size() && is_one_of(text_.substr(at_ + 1, 1), {">", "<", "&", "|"})) ++at_;
    while (at_ + 1 < text_.size() && text_[at_ + 1] == ' ') ++at_;
    drop_word_ = true;
  }

  void add(char c) {
    in_word_ = true;
    word_ += c;
  }

  void end_word() {
    if (in_word_ && !drop_word_) words_.push_back(word_);
    if (in_word_) drop_word_ = false;
    word_.clear();
    in_word_ = false;
  }

  void end_command() {
    end_word();
    drop_word_ = false;
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  bool drop_word_ = false;
  Words words_;
  std::vector<Words> commands_;
};

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  return word.substr(0, equals).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

void skip_options(const Words& words, std::size_t& at) {
  while (at < words.size() && !words[at].empty() && words[at][0] == '-') {
    const bool takes_value = is_one_of(words[at], {"-p", "--package", "-w", "--workspace", "--prefix", "-C", "-c"});
    at += takes_value ? 2 : 1;
  }
}

// The position of the program itself, behind assignments, shell words and programs that only run another one.
std::size_t program_position(const Words& words) {
  std::size_t at = 0;
  while (at < words.size()) {
    const std::string_view word = file_name(words[at]);
    if (is_assignment(words[at]) || is_one_of(word, {"then", "do", "else", "elif", "if", "while", "until", "!", "{",
                                                     "time", "exec", "command", "env", "cross-env", "nohup"})) {
      ++at;
      continue;
    }
    const bool package_manager = is_one_of(word, {"npm", "pnpm", "yarn", "bun"}) && at + 1 < words.size();
    if (is_one_of(word, {"npx", "bunx", "pnpx"})) {
      ++at;
    } else if (package_manager && is_one_of(words[at + 1], {"exec", "x", "dlx"})) {
      at += 2;
    } else if (package_manager && words[at + 1] == "patch-package") {  // yarn patch-package
      ++at;
    } else {
      return at;
    }
    skip_options(words, at);
  }
  return at;
}

bool is_patch_package(std::string_view program) {
  const std::string_view name = file_name(program);
  constexpr std::string_view k_versioned = "patch-package@";
  return name == "patch-package" || name.substr(0, k_versioned.size()) == k_versioned;
}

std::optional<Words> patch_package_arguments(const Words& words) {
  std::size_t at = program_position(words);
  if (at < words.size() && file_name(words[at]) == "node") {
    skip_options(words, ++at);
    constexpr std::string_view k_inside = "node_modules/patch-package/";
    const bool is_it = at < words.size() && words[at].find(k_inside) != std::string::npos;
    if (!is_it) return std::nullopt;
  } else if (at >= words.size() || !is_patch_package(words[at])) {
    return std::nullopt;
  }
  auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  if (first != words.end() && *first == "--") ++first;
  return Words(first, words.end());
}

// "X" of `npm run X` and its spellings, else nothing.
std::optional<std::string> called_script(const Words& words) {
  std::size_t at = program_position(words);
  if (at >= words.size() || !is_one_of(file_name(words[at]), {"npm", "pnpm", "yarn", "bun"})) return std::nullopt;
  const bool bare_name = file_name(words[at]) != "npm";
  skip_options(words, ++at);
  if (at < words.size() && is_one_of(words[at], {"run", "run-script", "rum", "urn"})) {
    skip_options(words, ++at);
  } else if (!bare_name) {
    return std::nullopt;
  }
  return at < words.size() ? std::optional(words[at]) : std::nullopt;
}

class Search {
 public:
  explicit Search(const DependencyMap& scripts) : scripts_(scripts) {}

  // Nested scripts are searched in the order they run; each name once, since scripts may call each other in circles.
  std::optional<Words> in_text(std::string_view text) {
    for (const Words& command : CommandSplitter(text).split()) {
      if (auto arguments = patch_package_arguments(command)) return arguments;
      const auto script = called_script(command);
      if (!script) continue;
      for (const std::string& name : {"pre" + *script, *script, "post" + *script}) {
        if (auto arguments = in_script(name)) return arguments;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Words> in_script(const std::string& name) {
    if (!searched_.insert(name).second) return std::nullopt;
    for (const auto& script : scripts_) {
      if (script.first == name) return in_text(script.second);
    }
    return std::nullopt;
  }

  const DependencyMap& scripts_;
  std::set<std::string> searched_;
};

}  // namespace

std::optional<std::vector<std::string>> find_patch_package_call(const PackageManifest& manifest) {
  Search search(manifest.scripts);
  for (const auto& script : lifecycle_scripts(manifest)) {
    if (auto arguments = search.in_text(script.second)) return arguments;
  }
  return std::nullopt;
}

}  // namespace pfnm

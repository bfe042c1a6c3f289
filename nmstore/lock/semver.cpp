#include "nmstore/lock/semver.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nmstore/lock/semver_text.hpp"

namespace pfnm {

using namespace semver_text;

namespace {

constexpr std::uint64_t k_max_safe_integer = 9007199254740991U;
constexpr std::size_t k_max_version_length = 256;

struct Version {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::string_view prerelease;  // without the hyphen; "" = a release
};

enum class Operator { less, less_equal, equal, greater_equal, greater };

struct Comparator {
  Operator op = Operator::equal;
  Version version;
};
using ComparatorSet = std::vector<Comparator>;  // all must hold; empty = any version

bool is_number(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// Takes a number without leading zeros off the front.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::size_t length = 0;
  std::uint64_t value = 0;
  while (length < text.size() && is_digit(text[length])) {
    value = value * 10 + static_cast<std::uint64_t>(text[length] - '0');
    if (value > k_max_safe_integer) return std::nullopt;
    ++length;
  }
  if (length == 0 || (length > 1 && text[0] == '0')) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Dot-separated identifiers to the end of the text; numeric ones have no leading zeros.
bool is_prerelease(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !std::all_of(part.begin(), part.end(), is_identifier)) return false;
    if (is_number(part) && part.size() > 1 && part[0] == '0') return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

int compare_identifiers(std::string_view a, std::string_view b) {
  const bool number_a = is_number(a);
  const bool number_b = is_number(b);
  if (number_a != number_b) return number_a ? -1 : 1;
  if (number_a && a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int compare_prereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() ? (b.empty() ? 0 : 1) : -1;
  while (true) {
    const std::size_t dot_a = a.find('.');
    const std::size_t dot_b = b.find('.');
    if (const int order = compare_identifiers(a.substr(0, dot_a), b.substr(0, dot_b)); order != 0) return order;
    if (dot_a == std::string_view::npos || dot_b == std::string_view::npos)
      return (dot_a == dot_b) ? 0 : (dot_a == std::string_view::npos ? -1 : 1);
    a.remove_prefix(dot_a + 1);
    b.remove_prefix(dot_b + 1);
  }
}

int compare(const Version& a, const Version& b) {
  if (a.major != b.major) return a.major < b.major ? -1 : 1;
  if (a.minor != b.minor) return a.minor < b.minor ? -1 : 1;
  if (a.patch != b.patch) return a.patch < b.patch ? -1 : 1;
  return compare_prereleases(a.prerelease, b.prerelease);
}

bool holds(const Comparator& comparator, const Version& version) {
  const int order = compare(version, comparator.version);
  switch (comparator.op) {
    case Operator::less:
      return order < 0;
    case Operator::less_equal:
      return order <= 0;
    case Operator::equal:
      return order == 0;
    case Operator::greater_equal:
      return order >= 0;
    case Operator::greater:
      return order > 0;
  }
  return false;
}

std::optional<Version> parse_version(std::string_view text) {
  text = trimmed(text);
  if (text.size() > k_max_version_length) return std::nullopt;
  take(text, 'v');
  Version version;
  for (std::uint64_t* part : {&version.major, &version.minor, &version.patch}) {
    if (part != &version.major && !take(text, '.')) return std::nullopt;
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    *part = *number;
  }
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    // Build metadata: identifiers too, but leading zeros are fine there, hence the letter in front.
    std::string_view build = text.substr(plus + 1);
    text = text.substr(0, plus);
    do {
      const std::size_t dot = build.find('.');
      const std::string_view part = build.substr(0, dot);
      if (part.empty() || !std::all_of(part.begin(), part.end(), is_identifier)) return std::nullopt;
      build.remove_prefix(dot == std::string_view::npos ? build.size() : dot + 1);
      if (dot != std::string_view::npos && build.empty()) return std::nullopt;
    } while (!build.empty());
  }
  if (text.empty()) return version;
  if (!take(text, '-') || !is_prerelease(text)) return std::nullopt;
  version.prerelease = text;
  return version;
}

// XRANGEPLAIN: "[v=\s]*" then up to three components of which each may be x, and a prerelease after the third.
struct Partial {
  std::string_view prefix;
  std::optional<std::uint64_t> major, minor, patch;  // nothing: absent or x
  std::string_view prerelease;
};

// Returns false when there is no component; `present` says that it was there, x or number.
bool take_component(std::string_view& text, std::optional<std::uint64_t>& value) {
  if (take(text, 'x') || take(text, 'X') || take(text, '*')) return true;
  value = take_number(text);
  return value.has_value();
}

std::optional<Partial> parse_partial(std::string_view text) {
  Partial partial;
  const std::size_t start = std::min(text.find_first_not_of("v= \t"), text.size());
  partial.prefix = text.substr(0, start);
  text.remove_prefix(start);
  if (!take_component(text, partial.major)) return std::nullopt;
  if (text.empty()) return partial;
  if (!take(text, '.') || !take_component(text, partial.minor)) return std::nullopt;
  if (text.empty()) return partial;
  if (!take(text, '.') || !take_component(text, partial.patch)) return std::nullopt;
  if (text.empty()) return partial;
  if (!take(text, '-') || !is_prerelease(text)) return std::nullopt;
  partial.prerelease = text;
  return partial;
}

// "x.1" and "1.x.3" are refused for plain ranges, but not after ^ and ~.
bool is_ordered(const Partial& partial) {
  return (partial.major || !partial.minor) && (partial.minor || !partial.patch);
}

constexpr std::string_view k_lowest = "0";  // "-0", the lowest prerelease

Comparator at_least(std::uint64_t major, std::uint64_t minor, std::uint64_t patch, std::string_view prerelease) {
  return {Operator::greater_equal, {major, minor, patch, prerelease}};
}
Comparator below(std::uint64_t major, std::uint64_t minor, std::uint64_t patch) {
  return {Operator::less, {major, minor, patch, k_lowest}};
}

ComparatorSet tilde(const Partial& p) {
  if (!p.major) return {};
  if (!p.minor) return {at_least(*p.major, 0, 0, k_lowest), below(*p.major + 1, 0, 0)};
  const Comparator end = below(*p.major, *p.minor + 1, 0);
  if (!p.patch) return {at_least(*p.major, *p.minor, 0, k_lowest), end};
  return {at_least(*p.major, *p.minor, *p.patch, p.prerelease), end};
}

ComparatorSet caret(const Partial& p) {
  if (!p.major) return {};
  if (!p.minor) return {at_least(*p.major, 0, 0, k_lowest), below(*p.major + 1, 0, 0)};
  const Comparator next_minor = below(*p.major, *p.minor + 1, 0);
  const Comparator next_major = below(*p.major + 1, 0, 0);
  if (!p.patch) return {at_least(*p.major, *p.minor, 0, k_lowest), *p.major == 0 ? next_minor : next_major};
  const Comparator start = at_least(*p.major, *p.minor, *p.patch, p.prerelease);
  if (*p.major != 0) return {start, next_major};
  if (*p.minor != 0) return {start, next_minor};
  return {start, below(0, 0, *p.patch + 1)};
}

// A comparator with an x in it.
ComparatorSet x_range(Operator op, const Partial& p) {
  const std::uint64_t major = p.major.value_or(0);
  const std::uint64_t minor = p.minor.value_or(0);
  const Comparator start = at_least(major, minor, 0, k_lowest);
  const Comparator next = p.minor ? below(major, minor + 1, 0) : below(major + 1, 0, 0);
  const Comparator from_next{Operator::greater_equal, next.version};
  switch (op) {
    case Operator::less:
      return {p.major ? below(major, minor, 0) : below(0, 0, 0)};
    case Operator::greater:
      return {p.major ? from_next : below(0, 0, 0)};  // nothing is below 0.0.0-0
    case Operator::less_equal:
      return p.major ? ComparatorSet{next} : ComparatorSet{};
    case Operator::greater_equal:
      return p.major ? ComparatorSet{start} : ComparatorSet{};
    case Operator::equal:
      return p.major ? ComparatorSet{start, next} : ComparatorSet{};
  }
  return {};
}

Operator take_operator(std::string_view& text) {
  const bool less = take(text, '<');
  const bool greater = !less && take(text, '>');
  const bool equal = take(text, '=');
  if (less) return equal ? Operator::less_equal : Operator::less;
  if (greater) return equal ? Operator::greater_equal : Operator::greater;
  return Operator::equal;
}

std::optional<ComparatorSet> exact(Operator op, const Partial& p) {
  if (!p.prefix.empty() && p.prefix != "v") return std::nullopt;
  return ComparatorSet{{op, {*p.major, *p.minor, *p.patch, p.prerelease}}};
}

// Of what is no range otherwise node-semver drops the first star and the operator before it: "<=*1.2.3" is 1.2.3.
std::optional<ComparatorSet> parse_around_star(std::string_view text) {
  const std::size_t star = text.find('*');
  if (star == std::string_view::npos) return std::nullopt;
  std::size_t start = star;
  if (start > 0 && text[start - 1] == '=') --start;
  if (start > 0 && (text[start - 1] == '<' || text[start - 1] == '>')) --start;
  // Only one side may hold something, or the two would not make up a version that could be pointed into.
  if (start != 0 && star + 1 != text.size()) return std::nullopt;
  text = start == 0 ? text.substr(star + 1) : text.substr(0, start);
  const Operator op = take_operator(text);
  const auto partial = parse_partial(text);
  if (!partial || !partial->patch || !partial->minor || !partial->major) return std::nullopt;
  return exact(op, *partial);
}

std::optional<ComparatorSet> parse_comparator(std::string_view text) {
  if (text.empty()) return ComparatorSet{};
  if (take(text, '^')) {
    const auto partial = parse_partial(text);
    return partial ? std::optional(caret(*partial)) : std::nullopt;
  }
  if (take(text, '~')) {
    take(text, '>');
    const auto partial = parse_partial(text);
    return partial ? std::optional(tilde(*partial)) : std::nullopt;
  }
  std::string_view rest = text;
  const Operator op = take_operator(rest);
  const auto partial = parse_partial(rest);
  if (!partial || !is_ordered(*partial)) return parse_around_star(text);
  if (!partial->patch) return x_range(op, *partial);
  return exact(op, *partial);
}

std::optional<ComparatorSet> parse_hyphen(std::string_view from_text, std::string_view to_text) {
  const auto from = parse_partial(from_text);
  const auto to = parse_partial(to_text);
  if (!from || !to) return std::nullopt;
  ComparatorSet set;
  if (from->major) {
    const bool full = from->minor && from->patch;
    if (full && !from->prefix.empty() && from->prefix != "v") return std::nullopt;
    set.push_back(at_least(*from->major, from->minor.value_or(0), full ? *from->patch : 0,
                           full && !from->prerelease.empty() ? from->prerelease : k_lowest));
  }
  if (!to->major) return set;
  if (!to->minor) {
    set.push_back(below(*to->major + 1, 0, 0));
  } else if (!to->patch) {
    set.push_back(below(*to->major, *to->minor + 1, 0));
  } else if (!to->prerelease.empty()) {
    set.push_back({Operator::less_equal, {*to->major, *to->minor, *to->patch, to->prerelease}});
  } else {
    set.push_back(below(*to->major, *to->minor, *to->patch + 1));
  }
  return set;
}

// `text` outlives the set, whose prereleases point into it.
std::optional<ComparatorSet> parse_set(std::string_view text) {
  if (const std::size_t hyphen = text.find(" - "); hyphen != std::string_view::npos)
    return parse_hyphen(text.substr(0, hyphen), text.substr(hyphen + 3));
  ComparatorSet set;
  while (true) {
    const std::size_t space = text.find(' ');
    const auto comparators = parse_comparator(text.substr(0, space));
    if (!comparators) return std::nullopt;
    set.insert(set.end(), comparators->begin(), comparators->end());
    if (space == std::string_view::npos) return set;
    text.remove_prefix(space + 1);
  }
}

enum class Match { invalid_range, no, yes };

Match match(const std::optional<Version>& version, std::string_view range) {
  const std::string collapsed = collapse_spaces(range);
  std::string_view rest = collapsed;
  Match result = Match::no;
  while (true) {
    const std::size_t bars = rest.find("||");
    std::string alternative = strip_build_metadata(trimmed(rest.substr(0, bars)));
    if (alternative.find(" - ") == std::string::npos)
      alternative = close_up_prefixes(close_up_comparisons(alternative));
    const auto set = parse_set(alternative);
    if (!set) return Match::invalid_range;
    if (version && std::all_of(set->begin(), set->end(), [&](const auto& c) { return holds(c, *version); }))
      result = Match::yes;
    if (bars == std::string_view::npos) return result;
    rest.remove_prefix(bars + 2);
  }
}

}  // namespace

bool satisfies(std::string_view version, std::string_view range) {
  const auto parsed = parse_version(version);
  return parsed && match(parsed, range) == Match::yes;
}

bool is_valid_range(std::string_view range) { return match(std::nullopt, range) != Match::invalid_range; }

}  // namespace pfnm

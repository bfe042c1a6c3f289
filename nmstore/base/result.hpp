// Result<T>: a value or an Error. tl::expected today, std::expected when the compilers have it; only the common
// subset (construct, has_value, operator*, error) is used, so that the change is this file.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "nmstore/base/error.hpp"

namespace pfnm {

template <typename T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
[[nodiscard]] inline tl::unexpected<Error> fail_errno(int saved_errno, std::string_view operation,
                                                      std::string_view path) {
  return tl::unexpected<Error>(Error::from_errno(saved_errno, operation, path));
}

}  // namespace pfnm

#define PFNM_CONCAT_INNER(a, b) a##b
#define PFNM_CONCAT(a, b) PFNM_CONCAT_INNER(a, b)

// Returns the error of a Status or Result from the enclosing function.
#define PFNM_TRY(expression)                                                           \
  do {                                                                                 \
    if (auto pfnm_result = (expression); !pfnm_result.has_value())                     \
      return ::pfnm::fail(std::move(pfnm_result.error()));                             \
  } while (false)

// PFNM_TRY_ASSIGN(auto x, f()): declares x from the value, or returns the error.
#define PFNM_TRY_ASSIGN(declaration, expression)                                                  \
  auto PFNM_CONCAT(pfnm_result_, __LINE__) = (expression);                                        \
  if (!PFNM_CONCAT(pfnm_result_, __LINE__).has_value())                                           \
    return ::pfnm::fail(std::move(PFNM_CONCAT(pfnm_result_, __LINE__).error()));                  \
  declaration = std::move(*PFNM_CONCAT(pfnm_result_, __LINE__))

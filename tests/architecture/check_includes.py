#!/usr/bin/env python3
"""The rules of the house that the link graph cannot hold: who may include whom, and what is banned where.

Usage: check_includes.py SOURCE_ROOT        check the tree
       check_includes.py --self-test        every rule finds a file that breaks it
"""
import os
import re
import sys
import tempfile

# Folder -> project folders it may include besides itself ("may include" in the design; `build` stands between store and
# layout, and adds lock and git to what store may see).
MAY_INCLUDE = {
    "nmstore/base": set(),
    "nmstore/platform": {"nmstore/base"},
    "nmstore/db": {"nmstore/base", "nmstore/platform"},
    "nmstore/git": {"nmstore/base", "nmstore/platform"},
    "nmstore/net": {"nmstore/base", "nmstore/platform"},
    "nmstore/lock": {"nmstore/base"},
    "nmstore/store": {"nmstore/base", "nmstore/platform", "nmstore/db", "nmstore/lock"},
    "nmstore/build": {"nmstore/base", "nmstore/platform", "nmstore/db", "nmstore/lock", "nmstore/store", "nmstore/git"},
    "nmstore/layout": {"nmstore/base", "nmstore/platform", "nmstore/db", "nmstore/lock", "nmstore/store"},
    "nmstore/reclaim": {"nmstore/base", "nmstore/platform", "nmstore/store"},
    "nmstore/worktree": {"nmstore/base", "nmstore/platform", "nmstore/db", "nmstore/lock", "nmstore/store",
                         "nmstore/layout", "nmstore/git", "nmstore/reclaim"},
    "nmstore/disk": {"nmstore/base", "nmstore/platform", "nmstore/db", "nmstore/net"},
    "fuse": {"nmstore/base", "nmstore/platform", "nmstore/store", "nmstore/layout"},
}
EVERYTHING = {"cli", "tests", "bench"}
# Pure code: no reading or changing of anything. Values of the store may be used.
PURE_NAME = re.compile(r"^(plan|judge|pacer)(_[a-z_]+)?\.[ch]pp$|_(plan|judge)\.[ch]pp$")
PURE_FOLDERS = {"nmstore/lock"}
IMPURE = {"nmstore/platform", "nmstore/db", "nmstore/git", "nmstore/net"}
MAX_LINES = 600

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>")
BANNED = [
    # pattern, where it is allowed, why
    (re.compile(r"(?<![\w.>])(?:std::|::)?(?:system|popen)\s*\("), (), "children get an argument vector, never a shell"),
    (re.compile(r"(?<![\w.>])(?:std::|::)?(?:secure_)?getenv\s*\(|\benviron\b(?!ment)"), ("cli/", "tests/", "bench/"),
     "only cli/ reads the environment"),
    (re.compile(r"std::c(?:out|err|log)\b|(?<![\w.])(?:std::)?f?(?:printf|puts)\s*\("), ("cli/", "tests/", "bench/"),
     "nothing below cli/ prints"),
]
BANNED_INCLUDES = [
    (re.compile(r"^CLI/"), ("cli/",), "only cli/ uses CLI11"),
    (re.compile(r"^fuse"), ("fuse/",), "only fuse/ uses libfuse"),
]


def without_comments(text):
    """Comments and string contents out, lines kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

    def blank(match):
        found = match.group(0)
        if found.startswith('"'):
            return '""'
        return "\n" * found.count("\n")
    return pattern.sub(blank, text)


def sources(root):
    for top in ("nmstore", "cli", "fuse", "hooks", "tests", "bench"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".cpp", ".hpp", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def folder_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "nmstore" else parts[0]


def check_includes(path, lines):
    folder = folder_of(path)
    pure = folder in PURE_FOLDERS or PURE_NAME.search(os.path.basename(path)) and folder.startswith("nmstore/")
    for number, line in enumerate(lines, 1):
        if found := SYSTEM_INCLUDE.match(line):
            for pattern, allowed, why in BANNED_INCLUDES:
                if pattern.search(found.group(1)) and not path.startswith(allowed):
                    yield f"{path}:{number}: includes <{found.group(1)}>: {why}"
        if not (found := INCLUDE.match(line)):
            continue
        target = found.group(1)
        target_folder = folder_of(target)
        if "/" not in target:
            yield f"{path}:{number}: \"{target}\" is not written from the root of the sources"
        elif folder in EVERYTHING:
            continue
        elif folder not in MAY_INCLUDE:
            yield f"{path}:{number}: {folder} is in no rule of this check"
        elif target_folder != folder and target_folder not in MAY_INCLUDE[folder]:
            yield f"{path}:{number}: {folder} may not include {target}"
        if pure and target_folder in IMPURE:
            yield f"{path}:{number}: pure code may not include {target}"


def check_words(path, code):
    for number, line in enumerate(code.split("\n"), 1):
        for pattern, allowed, why in BANNED:
            if pattern.search(line) and not path.startswith(allowed or ("\0",)):
                yield f"{path}:{number}: {line.strip()}: {why}"


def check(root):
    problems, count = [], 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        count += 1
        lines = text.split("\n")
        if text.count("\n") > MAX_LINES:
            problems.append(f"{path}: {text.count(chr(10))} lines, more than {MAX_LINES}")
        problems += check_includes(path, lines)
        problems += check_words(path, without_comments(text))
    return problems, count


SELF_TEST = {
    "nmstore/base/a.hpp": '#include "nmstore/platform/fs.hpp"\n',
    "nmstore/lock/b.cpp": '#include "nmstore/platform/read.hpp"\n',
    "nmstore/store/plan.cpp": '#include "nmstore/platform/read.hpp"\n',
    "nmstore/store/c.cpp": '#include "nmstore/layout/links.hpp"\n',
    "nmstore/new_room/d.cpp": '#include "nmstore/base/error.hpp"\n',
    "nmstore/git/e.cpp": 'int f() { return std::system(""); }\n',
    "cli/f.cpp": 'void f() { popen("", ""); }\n',
    "nmstore/build/g.cpp": 'auto v = std::getenv("HOME");\n',
    "nmstore/build/h.cpp": 'void f() { std::cout << 1; }\n',
    "nmstore/build/i.cpp": 'void f() { printf("x"); }\n',
    "nmstore/build/j.cpp": "int i;\n" * (MAX_LINES + 1),
    "nmstore/build/k.cpp": "#include <CLI/CLI.hpp>\n",
    "nmstore/build/l.cpp": '#include "k.hpp"\n',
}
FINE = {
    "nmstore/base/ok.cpp": '// std::cout is not used here, nor system()\nconst char* s = "printf(";\n',
    "nmstore/store/ok.cpp": '#include "nmstore/platform/read.hpp"\nvoid f() { char b[9]; snprintf(b, 9, "x"); }\n',
    "nmstore/platform/ok.cpp": "void f(std::vector<std::string> environment) { file_system(1); }\n",
    "cli/ok.cpp": '#include "nmstore/base/error.hpp"\nauto v = getenv("HOME");\n',
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**SELF_TEST, **FINE}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        problems, _ = check(root)
    named = {problem.split(":")[0] for problem in problems}
    for path in SELF_TEST:
        if path not in named:
            print(f"the check does not see what is wrong with {path}")
            return 1
    for path in FINE:
        if path in named:
            print(f"the check complains of {path}: {[p for p in problems if p.startswith(path)]}")
            return 1
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    problems, count = check(sys.argv[1])
    for problem in problems:
        print(problem)
    if count == 0:
        print(f"no sources below {sys.argv[1]}")
        return 1
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())

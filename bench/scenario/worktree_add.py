#!/usr/bin/env python3
"""What the hook adds to `git worktree add` in a large repository (SPEC part 13, row 3).

usage: worktree_add.py --build BUILD --dir DIRECTORY --project PROJECT [--files N] [--pairs N] [--json FILE]

A repository of N files with PROJECT's package.json and lock in it. Pairs of `git worktree add`, with `pfnm init`'s hook and
with hooks switched off, interleaved, each first in turn; then `pfnm link` in those that had no hook. Times are from fork to
exit. Bar: the median of the differences is at most the median of the links plus 3 ms.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time


def run(argv, env, cwd=None):
    start = time.perf_counter()
    done = subprocess.run(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    took = (time.perf_counter() - start) * 1000
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: {done.stdout.decode(errors='replace')}")
    return took


def make_repository(project, repository, files, env):
    os.makedirs(repository)
    for name in ("package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc", "patches", "packages"):
        source = os.path.join(project, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(repository, name), ignore=shutil.ignore_patterns("node_modules"))
        elif os.path.exists(source):
            shutil.copy(source, repository)
    with open(os.path.join(repository, ".gitignore"), "w", encoding="utf-8") as ignore:
        ignore.write("node_modules/\n")
    for number in range(files):
        directory = os.path.join(repository, "src", f"part-{number // 2500}", f"module-{number // 50}")
        if number % 50 == 0:
            os.makedirs(directory)
        with open(os.path.join(directory, f"file-{number}.js"), "w", encoding="utf-8") as file:
            file.write(f"export const value{number} = {number};\n" * 8)
    for argv in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "all"]):
        run(["git", "-C", repository, *argv], env)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--files", type=int, default=25000)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    directory = os.path.realpath(options.dir)
    pfnm = os.path.realpath(os.path.join(options.build, "bin", "pfnm"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(PFNM_STORE=os.path.join(directory, "store"), GIT_AUTHOR_NAME="b", GIT_AUTHOR_EMAIL="b@example.invalid",
               GIT_COMMITTER_NAME="b", GIT_COMMITTER_EMAIL="b@example.invalid", GIT_CONFIG_NOSYSTEM="1")
    repository = os.path.join(directory, "repository")
    make_repository(os.path.realpath(options.project), repository, options.files, env)
    run([pfnm, "init", repository], env)
    run([pfnm, "link", repository], env)  # builds the install, and approves what it runs
    warm = os.path.join(directory, "warm")
    run(["git", "-C", repository, "worktree", "add", "-q", "--detach", warm], env)

    def add(name, hooks):
        path = os.path.join(directory, name)
        config = [] if hooks else ["-c", "core.hooksPath=/dev/null"]
        took = run(["git", *config, "-C", repository, "worktree", "add", "-q", "--detach", path], env)
        linked = os.path.islink(os.path.join(path, "node_modules", ".pf-shared"))
        if linked != hooks:
            sys.exit(f"{path}: linked is {linked}")
        os.sync()
        return took

    with_hook, without, links = [], [], []
    for pair in range(options.pairs):
        first, second = (True, False) if pair % 2 == 0 else (False, True)
        for hooks in (first, second):
            (with_hook if hooks else without).append(add(f"{'with' if hooks else 'without'}-{pair}", hooks))
    for pair in range(options.pairs):
        links.append(run([pfnm, "link", os.path.join(directory, f"without-{pair}")], env))
        os.sync()
    differences = [a - b for a, b in zip(with_hook, without)]
    result = {"files": options.files, "pairs": options.pairs, "with_ms": statistics.median(with_hook),
              "without_ms": statistics.median(without), "difference_ms": statistics.median(differences),
              "link_ms": statistics.median(links)}
    result["bar_ms"] = result["link_ms"] + 3
    print(f"git worktree add of {options.files} files, {options.pairs} pairs, medians: {result['without_ms']:.1f} ms without "
          f"the hook, {result['with_ms']:.1f} ms with it; median difference {result['difference_ms']:.1f} ms; pfnm link "
          f"{result['link_ms']:.1f} ms (bar: at most {result['bar_ms']:.1f} ms)")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(dict(result, samples={"with": with_hook, "without": without, "link": links}), file)
    sys.exit(0 if result["difference_ms"] <= result["bar_ms"] else 1)


main()

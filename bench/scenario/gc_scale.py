#!/usr/bin/env python3
"""How long `pfnm gc` plans in a large store: 500 installs, 2,000 references, 40 repositories (issue bar: under 1 s warm, 64 MB).

usage: gc_scale.py --build BUILD --dir DIRECTORY [--installs N] [--repositories N] [--worktrees N (of each)] [--rounds N]

One install is built by pfnm from a project without dependencies; the others are copies of its seal under other names, the
worktrees are directories with the marker and a reference. Every fifth install has no reference.
"""
import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse


def run(argv, env):
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: {done.stdout.decode(errors='replace')}")
    return done.stdout.decode()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def field(text):
    return urllib.parse.quote(text, safe="/:-_.,+=@~") or "%"


def make_repository(path, name, env):
    write(f"{path}/package.json", '{"name": "%s", "version": "1.0.0", "private": true}\n' % name)
    write(f"{path}/package-lock.json", '{"name": "%s", "version": "1.0.0", "lockfileVersion": 3, "requires": true, '
          '"packages": {"": {"name": "%s", "version": "1.0.0"}}}\n' % (name, name))
    write(f"{path}/.gitignore", "node_modules/\n")
    for argv in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "all"]):
        run(["git", "-C", path, *argv], env)


def copy_install(store, real, key):
    with open(f"{store}/.pf/seals/{real}", encoding="utf-8") as seal:
        write(f"{store}/.pf/seals/{key}", seal.read().replace(real, key))
    os.makedirs(f"{store}/{key}/.pf")
    shutil.copy(f"{store}/{real}/.pf/intent", f"{store}/{key}/.pf/intent")
    write(f"{store}/{key}/node_modules/x/index.js", "")


def make_worktree(store, repository, number, worktree, key):
    hop = f"{worktree}/node_modules/.pf"
    os.makedirs(hop)
    os.symlink(f"{store}/{key}", f"{hop}/shared")
    os.symlink(".pf/shared", f"{worktree}/node_modules/.pf-shared")
    for directory in ("src", "test", "packages", "docs"):
        os.makedirs(f"{worktree}/{directory}")
    write(f"{repository}/.git/worktrees/w{number}/gitdir", f"{worktree}/.git\n")
    write(f"{worktree}/.git", f"gitdir: {repository}/.git/worktrees/w{number}\n")
    identity = hashlib.sha256(worktree.encode()).hexdigest()[:32]
    write(f"{store}/.pf/references/{identity}", "\n".join([
        "pfnm-reference 1", f"project {field(worktree)}", f"worktree {field(worktree)}",
        f"repository {field(repository + '/.git')}", f"install {key}", "layout links", "identity % 0 0 0", "boot %",
        "announced 1700000000", "end"]) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--installs", type=int, default=500)
    parser.add_argument("--repositories", type=int, default=40)
    parser.add_argument("--worktrees", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    directory = os.path.realpath(options.dir)
    store = f"{directory}/store"
    pfnm = os.path.realpath(os.path.join(options.build, "bin", "pfnm"))
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(PFNM_STORE=store, GIT_AUTHOR_NAME="b", GIT_AUTHOR_EMAIL="b@example.invalid", GIT_COMMITTER_NAME="b",
               GIT_COMMITTER_EMAIL="b@example.invalid", XDG_STATE_HOME=f"{directory}/state")
    repositories = [f"{directory}/work-{i}/repository" for i in range(options.repositories)]
    for i, repository in enumerate(repositories):
        make_repository(repository, f"project-{i}", env)
    run([pfnm, "link", repositories[0]], env)
    real = next(name for name in os.listdir(f"{store}/.pf/seals"))
    keys = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(options.installs - 1)]
    for key in keys:
        copy_install(store, real, key)
    used = [key for i, key in enumerate(keys) if i % 5 != 0]
    for i, repository in enumerate(repositories):
        for j in range(options.worktrees):
            make_worktree(store, repository, j, f"{directory}/work-{i}/worktree-{j}", used[(i * options.worktrees + j) % len(used)])
    times = []
    peak = 0
    for _ in range(options.rounds + 1):
        start = time.perf_counter()
        child = subprocess.Popen([pfnm, "gc"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        times.append(time.perf_counter() - start)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit("pfnm gc failed")
        peak = max(peak, usage.ru_maxrss / 1024)
        time.sleep(0.3)  # what the first run found out is written down in the background
    print(run([pfnm, "gc"], env).strip().splitlines()[-2])
    print(f"pfnm gc with {options.installs} installs, {options.repositories * options.worktrees} references, "
          f"{options.repositories} repositories: first {times[0]:.2f} s, then median {statistics.median(times[1:]):.2f} s; "
          f"peak memory {peak:.0f} MiB")


main()

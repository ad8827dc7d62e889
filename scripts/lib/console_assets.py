"""Build the console, the page of `duolog server`, if its sources have changed.

    python scripts/lib/console_assets.py           build it; without Node.js, keep what is there
    python scripts/lib/console_assets.py --check    fail unless it is built from the current sources

    console/ ──npm ci, build.mjs──► src/duolog/server/console/assets/

The digest of the sources is written next to the files at the end of a build, so that a second call
takes some milliseconds, and an interrupted build is repeated. Exit status: 0 if the files are
those of the sources, or if Node.js is missing and there are older files; 1 otherwise.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ROOT / "console"
ASSETS: Final = ROOT / "src/duolog/server/console/assets"
STAMP: Final = "sources.sha256"
NODE_MIN: Final = 20
_LOCK_STAMP: Final = ".duolog-lock.sha256"
_BUILT_FROM: Final = ("package.json", "package-lock.json", "build.mjs")
HINT: Final = (
    f"hint: install Node.js {NODE_MIN} or later with npm (Debian, Ubuntu: nodejs npm; macOS, "
    "Homebrew: node), then run scripts/install."
)


def digest() -> str:
    """Return the digest of all files that the build reads."""
    files = [SOURCES / name for name in _BUILT_FROM]
    files += sorted(path for path in (SOURCES / "src").rglob("*") if path.is_file())
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(SOURCES).as_posix()}\0".encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def is_built() -> bool:
    """Return whether the files are those of the current sources."""
    stamp = ASSETS / STAMP
    return stamp.is_file() and stamp.read_text() == digest()


def node_major() -> int:
    """Return the major version of Node.js; 0 if it or npm is missing."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return 0
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    number = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(number) if number.isdigit() else 0


def install_packages() -> bool:
    """Install the packages of the lock, unless they are there."""
    lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()
    stamp = SOURCES / "node_modules" / _LOCK_STAMP
    if stamp.is_file() and stamp.read_text() == lock:
        return True
    print("installing the packages of the console", file=sys.stderr)
    # Scripts of packages are not run: esbuild works without its own.
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
    if not _run(words):
        return False
    stamp.write_text(lock)
    return True


def build() -> int:
    """Build the console if that is needed and possible; return the exit status."""
    if is_built():
        return 0
    found = node_major()
    if found < NODE_MIN:
        problem = "Node.js is missing" if found == 0 else f"Node.js {found} is too old"
        if (ASSETS / "manifest.json").is_file():
            print(f"warning: the console is not up to date: {problem}", file=sys.stderr)
            return 0
        print(f"error: the console is not built: {problem}\n{HINT}", file=sys.stderr)
        return 1
    made_of = digest()
    new = ASSETS.with_name(f".assets.{os.getpid()}")
    try:
        if not (install_packages() and _run(["node", "build.mjs", "--out", str(new)])):
            print("error: the console was not built", file=sys.stderr)
            return 1
        (new / STAMP).write_text(made_of)
        shutil.rmtree(ASSETS, ignore_errors=True)
        new.rename(ASSETS)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return 0


def _run(words: list[str]) -> bool:
    program = shutil.which(words[0])
    assert program is not None, words[0]
    # What npm prints is for people who build; standard output belongs to the caller.
    done = subprocess.run([program, *words[1:]], cwd=SOURCES, stdout=sys.stderr, check=False)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the console.")
    parser.add_argument("--check", action="store_true", help="only check that it is built")
    if parser.parse_args().check:
        if is_built():
            return 0
        print("error: the console is not built from its sources\n" + HINT, file=sys.stderr)
        return 1
    return build()


if __name__ == "__main__":
    sys.exit(main())

"""The sources and the built files of the console: what they must not contain, and their size.

The tests of the files need Node.js or files that were built before; `scripts/install` builds them.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ROOT / "console/src"
ASSETS: Final = ROOT / "src/duolog/server/console/assets"
FIRST_LOAD_KIB_MAX: Final = 260
"""Compressed by gzip: what a browser loads before it shows the first screen."""
# Values of topics are text. Each of these would make HTML or a program of a text.
FORBIDDEN: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser|createContextualFragment"
    r"|\beval\s*\(|new\s+Function\b|\bFunction\s*\(|set(?:Timeout|Interval)\s*\(\s*[\"'`]"
)
# Names of XML and of licences are no addresses that a browser opens.
NAMES: Final = ("http://www.w3.org/", "https://www.w3.org/")


def _sources() -> list[Path]:
    found = [path for path in SOURCES.rglob("*") if path.suffix in {".ts", ".tsx", ".html", ".css"}]
    assert len(found) > 20, "the sources of the console are somewhere else"
    return found


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    if not (ASSETS / "manifest.json").is_file():
        pytest.skip("the console is not built: install Node.js, then run scripts/install")
    found: dict[str, Any] = json.loads((ASSETS / "manifest.json").read_text())
    return found


def test_no_source_makes_html_or_programs_of_texts() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}": line.strip()
        for path in _sources()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if FORBIDDEN.search(line)
    }

    assert found == {}


def test_no_source_is_longer_than_a_file_of_python() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in _sources()
        if (lines := len(path.read_text().splitlines())) > 500
    }

    assert long == {}


def test_the_files_are_built_from_the_sources(manifest: dict[str, Any]) -> None:
    script = ROOT / "scripts/lib/console_assets.py"

    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert manifest["main"] in manifest["first_load"]


def test_the_first_load_keeps_its_budget(manifest: dict[str, Any]) -> None:
    names = [*manifest["first_load"], "index.html"]
    sizes = {name: len(gzip.compress((ASSETS / name).read_bytes(), 9)) for name in names}

    assert sum(sizes.values()) <= FIRST_LOAD_KIB_MAX * 1024, sizes


def test_a_screen_that_is_not_open_is_not_loaded(manifest: dict[str, Any]) -> None:
    """The editor, the charts and the graph are the largest packages, and few screens show them."""
    names = [name for name in manifest["first_load"] if name.endswith(".js")]
    early = b"".join((ASSETS / name).read_bytes() for name in names)

    assert [mark for mark in (b"uplot", b"cm-editor", b"graphlib") if mark in early] == []


def test_the_built_files_have_no_address_of_another_site(manifest: dict[str, Any]) -> None:
    found = {
        (name, address)
        for name in (*manifest["files"], "index.html")
        for address in re.findall(
            r"https?://[\w.-]+[^\s\"'`)]*", (ASSETS / name).read_text(encoding="utf-8")
        )
        if not address.startswith(NAMES)
    }

    assert found == set()
    assert "//# sourceMappingURL" not in (ASSETS / manifest["main"]).read_text()


def test_every_package_in_the_bundle_has_its_licence(manifest: dict[str, Any]) -> None:
    text = (ASSETS / "THIRD_PARTY.txt").read_text(encoding="utf-8")

    wanted = json.loads((ROOT / "console/package.json").read_text())["dependencies"]
    heads = re.findall(r"^=+\n(\S+) (\S+) \(([^)]+)\)$", text, re.MULTILINE)
    assert {licence for _, _, licence in heads} <= {"MIT", "Apache-2.0", "BSD-3-Clause", "ISC"}
    for name in ("preact", "@preact/signals", "@tanstack/virtual-core"):
        assert (name, wanted[name], "MIT") in heads
    assert text.count("Permission is hereby granted") >= len(heads) - 1


def test_the_versions_of_all_packages_are_exact() -> None:
    about = json.loads((ROOT / "console/package.json").read_text())

    every = {**about["dependencies"], **about["devDependencies"]}

    assert [
        name for name, version in every.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)
    ] == []
    assert "codemirror" not in every  # The package of this name is CodeMirror 5.
    lock = json.loads((ROOT / "console/package-lock.json").read_text())
    assert lock["packages"][""]["dependencies"] == about["dependencies"]
    # Addresses in the lock would be those of one registry.
    assert "resolved" not in (ROOT / "console/package-lock.json").read_text()

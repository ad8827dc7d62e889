"""Write the project of the distribution `duolog` into a directory.

    python scripts/lib/whole_distribution.py --out DIR [--without-console]

    pyproject.toml ── version, extras, metadata ──┐
    connector set  ── jars, verified by SHA-256 ──┼──► DIR ──hatchling──► wheel, source distribution
    the jars       ── licences and notices ───────┤
    console/       ── the built page ─────────────┘

`duolog` has no code of its own. It requires `duolog-broker[engine]` of the same version, passes all
other extras on, and contains the connector's jars as the data package `duolog_jars`, with their
licences and an SBOM, and the files of the console as the data package `duolog_console`, which is
built by `console_assets.py` if its sources have changed. The jars come from the cache of
`duolog.engine.jvm.jars`, which fetches those that are missing. DIR contains everything that a build
needs, so that the source distribution builds without Java, Node.js and a network.
"""

import argparse
import json
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
# Runs before Duolog is installed.
sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).parent)]

from bill_of_materials import bill_of_materials  # noqa: E402
from console_assets import ASSETS, STAMP, build  # noqa: E402

from duolog import __version__  # noqa: E402
from duolog.engine.jvm.artifacts import SERVED, Artifact  # noqa: E402
from duolog.engine.jvm.jars import fetch_jars, jar_cache_dir  # noqa: E402

CODE: Final = "duolog-broker"
ENGINE: Final = "engine"
PACKAGE: Final = "duolog_jars"
CONSOLE: Final = "duolog_console"
SBOM: Final = f"{PACKAGE}.cdx.json"
_COPIED: Final = ("description", "readme", "requires-python", "keywords", "classifiers")
_DOCSTRING: Final = '"""The jars of Spark\'s Kafka connector, as data for Duolog\'s engine."""\n'
_CONSOLE_DOCSTRING: Final = '"""The built files of the console of `duolog server`, as data."""\n'
# kafka-clients contains Protocol Buffers, but not its licence; Spark's distribution has the text.
_PROTOBUF: Final = "licenses/LICENSE-protobuf.txt"
_LEGAL: Final = ("LICENSE", "LICENSE.txt", "NOTICE", "NOTICE.txt")


def write_project(out: Path, *, console: bool) -> None:
    """Write the project into a new directory; without the console for an installation in place."""
    shutil.rmtree(out, ignore_errors=True)
    (out / PACKAGE).mkdir(parents=True)
    (out / PACKAGE / "__init__.py").write_text(_DOCSTRING)
    for jar in fetch_jars("", jar_cache_dir()):
        shutil.copy(jar, out / PACKAGE)
    packages = [PACKAGE]
    if console:
        _write_console(out / CONSOLE)
        packages.append(CONSOLE)
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, out)
    _write_licences(out)
    bill = bill_of_materials(SERVED, __version__)
    (out / SBOM).write_text(json.dumps(bill, indent=2) + "\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (out / "pyproject.toml").write_text(render_pyproject(project, __version__, packages))


def render_pyproject(project: dict[str, Any], version: str, packages: list[str]) -> str:
    """Return the text of pyproject.toml, derived from the table `project` of the root's."""
    extras = {
        name: [f"{CODE}[{name}]=={version}"]
        for name in project["optional-dependencies"]
        if name != ENGINE
    }
    return _render(
        {
            "build-system": {
                "requires": ["hatchling>=1.28"],
                "build-backend": "hatchling.build",
            },
            "project": {
                "name": "duolog",
                "version": version,
                **{name: project[name] for name in _COPIED},
                "license": "Apache-2.0 AND BSD-3-Clause",
                "license-files": ["LICENSE", "licenses/*/*"],
                "dependencies": [f"{CODE}[{ENGINE}]=={version}"],
            },
            "project.optional-dependencies": extras,
            # The directory is below one that git ignores.
            "tool.hatch.build": {"ignore-vcs": True},
            "tool.hatch.build.targets.wheel": {"packages": packages, "sbom-files": [SBOM]},
        }
    )


def _write_console(out: Path) -> None:
    if build() != 0:
        sys.exit("error: the distribution duolog needs the console")
    shutil.copytree(ASSETS, out, ignore=shutil.ignore_patterns(STAMP))
    (out / "__init__.py").write_text(_CONSOLE_DOCSTRING)


def licences(artifact: Artifact, jar: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the legal files in a jar."""
    with zipfile.ZipFile(jar) as opened:
        for name in _LEGAL:
            for path in (name, f"META-INF/{name}"):
                if path in opened.namelist():
                    yield f"{artifact.name}/{name.removesuffix('.txt')}", opened.read(path)


def _write_licences(out: Path) -> None:
    found = [
        file
        for artifact in SERVED
        for file in licences(artifact, out / PACKAGE / artifact.file_name)
    ]
    found.append(("protobuf-java/LICENSE", _protobuf_licence()))
    for name, content in found:
        path = out / "licenses" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _protobuf_licence() -> bytes:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / _PROTOBUF).read_bytes()


def _render(tables: dict[str, dict[str, Any]]) -> str:
    """Return tables of strings, lists of strings and booleans as TOML, which here equals JSON."""
    lines: list[str] = []
    for table, rows in tables.items():
        lines += [f"[{table}]", *(f"{name} = {json.dumps(row)}" for name, row in rows.items()), ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the project of the distribution duolog.")
    parser.add_argument("--out", type=Path, required=True, help="the directory to write")
    parser.add_argument("--without-console", action="store_true", help="do not build the console")
    given = parser.parse_args()
    write_project(given.out, console=not given.without_console)


if __name__ == "__main__":
    main()

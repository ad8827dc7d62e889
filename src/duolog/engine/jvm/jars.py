"""The jars that Spark needs in addition to its own: the Kafka connector's, and Duolog's kernel.

    connector set ── Maven artifacts, pinned by SHA-256 (artifacts.py)
        │
        ├─ site-packages/duolog_jars/*.jar ── part of the installation: the package `duolog`
        └─ $XDG_CACHE_HOME/duolog/jars/*.jar ── other versions, or only duolog-broker is installed:
             fetched once by Spark's own resolver, in a short-lived process (no host is named here)
    duolog/engine/kernel.jar ── in the wheel, compiled from jvm/ when the wheel is built

Every file is verified at every start. Invariant: a file that does not have the pinned digest is not
used. Files arrive in the cache by rename, so two processes that fetch at the same time never see
each other's partial jar.

`python -m duolog.engine.jvm.jars` puts the set into the cache and prints the paths, one per line:
the kernel is compiled against these files.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from duolog.core.engine_packages import SPARK_PACKAGES, ensure_engine_installed
from duolog.core.errors import DuologError
from duolog.engine.errors import ConnectorMissing, KernelMissing
from duolog.engine.jvm.artifacts import (
    CONNECTOR_SETTING,
    SERVED,
    Artifact,
    parse_artifacts,
    sha256_of,
)
from duolog.engine.jvm.java import ensure_java, java_home

FETCH_TIMEOUT_S: Final = 600
COMPILE_AGAIN: Final = (
    "It was compiled from other sources than this Python package: run scripts/install in a "
    "clone, otherwise reinstall Duolog."
)
_JAR_PACKAGE: Final = "duolog_jars"


def connector_jars(selection: str = "", *, cache_dir: Path | None = None) -> tuple[Path, ...]:
    """Return the connector's jars; fetch those that are neither installed nor in the cache.

    Args:
        selection: empty for the pinned set; else a directory of jars to use unchecked, or
            `group:artifact:version@sha256` items separated by commas.
        cache_dir: where to store fetched jars; default `jar_cache_dir()`.

    Raises:
        ConnectorMissing: jars are not available, or have a different digest.
        JavaMissing: jars must be fetched, and there is no Java to run the resolver.
        EngineMissing: jars must be fetched, and Spark is not installed.
    """
    if selection and Path(selection).is_dir():
        # The JVM that loads them has another working directory.
        return _jars_of(Path(selection).resolve())
    artifacts = parse_artifacts(selection) if selection else SERVED
    directory = cache_dir or jar_cache_dir()
    places = {
        artifact: place
        for place in (directory, *installed_jar_dirs())  # The last one wins.
        for artifact in artifacts
        if artifact.is_in(place)
    }
    if missing := [artifact for artifact in artifacts if artifact not in places]:
        _fetch(missing, directory)
    return tuple(places.get(artifact, directory) / artifact.file_name for artifact in artifacts)


def fetch_jars(selection: str, directory: Path) -> tuple[Path, ...]:
    """Put jars into a directory, from the installation, the cache or a repository.

    Args:
        selection: as for `connector_jars`, but not a directory.
        directory: where to put the jars; created if missing.

    Raises:
        ConfigError: the selection cannot be parsed.
        ConnectorMissing, JavaMissing, EngineMissing: as `connector_jars`.
    """
    artifacts = parse_artifacts(selection) if selection else SERVED
    directory.mkdir(parents=True, exist_ok=True)
    for artifact in artifacts:
        for place in (*installed_jar_dirs(), jar_cache_dir()):
            if not artifact.is_in(directory) and artifact.is_in(place):
                _place(place / artifact.file_name, directory)
    if missing := [artifact for artifact in artifacts if not artifact.is_in(directory)]:
        _fetch(missing, directory)
    return tuple(directory / artifact.file_name for artifact in artifacts)


def installed_jar_dirs() -> list[Path]:
    """Return the directories of the installed package `duolog_jars`: one, or none."""
    spec = find_spec(_JAR_PACKAGE)
    if spec is None or spec.origin is None:
        return []
    return [Path(spec.origin).parent]


def kernel_jar() -> Path:
    """Return the jar of Duolog's operators, which is part of the wheel.

    Raises:
        KernelMissing: the jar does not exist.
    """
    jar = Path(__file__).parents[1] / "kernel.jar"
    if not jar.is_file():
        raise KernelMissing(
            "the kernel jar is missing",
            detail=f"Expected {jar}.",
            hint="Reinstall Duolog from a wheel; in a clone run scripts/install.",
        )
    return jar


def spark_home() -> Path:
    """Return pyspark's Spark directory without importing pyspark.

    Raises:
        EngineMissing: pyspark is not installed.
    """
    ensure_engine_installed(SPARK_PACKAGES)
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def spark_jars() -> list[Path]:
    """Return Spark's own jars."""
    return sorted((spark_home() / "jars").glob("*.jar"))


def jar_cache_dir() -> Path:
    """Return the directory of the connector's jars in the cache."""
    return cache_dir() / "jars"


def cache_dir() -> Path:
    """Return `$XDG_CACHE_HOME/duolog`, by default below `~/.cache`; a relative path is ignored."""
    home = os.environ.get("XDG_CACHE_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return base / "duolog"


def _jars_of(directory: Path) -> tuple[Path, ...]:
    jars = tuple(sorted(directory.glob("*.jar")))
    if not jars:
        raise ConnectorMissing(
            f"no jars in directory {directory}", name=CONNECTOR_SETTING, value=str(directory)
        )
    return jars


def _fetch(artifacts: list[Artifact], directory: Path) -> None:
    """Fetch artifacts into a directory; keep those that arrive, and report all others at once."""
    ensure_engine_installed(SPARK_PACKAGES)
    java = ensure_java()
    directory.mkdir(parents=True, exist_ok=True)
    # Next to the target, so that the last step is a rename and not a copy.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
        with java_home(java, Path(scratch)):
            complaint = _resolve_in_a_process(artifacts, Path(scratch))
        # The resolver names files group_artifact-version.jar.
        files = {
            artifact: Path(scratch, "jars", f"{artifact.group}_{artifact.file_name}")
            for artifact in artifacts
        }
        fetched = {a: sha256_of(file) for a, file in files.items() if file.is_file()}
        for artifact, digest in fetched.items():
            if digest == artifact.sha256:
                shutil.move(files[artifact], checked := Path(scratch, artifact.file_name))
                checked.replace(directory / artifact.file_name)
    _refuse_other_files([(a, digest) for a, digest in fetched.items() if digest != a.sha256])
    _refuse_missing([a for a in artifacts if a not in fetched], directory, complaint)


def _resolve_in_a_process(artifacts: list[Artifact], scratch: Path) -> str:
    """Let Spark fetch `artifacts` into `scratch`; return its error output."""
    coordinates = [artifact.coordinate for artifact in artifacts]
    command = [sys.executable, "-m", "duolog.engine.jvm.jar_resolver", str(scratch), *coordinates]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, our own module
            command,
            cwd=scratch,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=False,
            timeout=FETCH_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"the resolver did not end within {FETCH_TIMEOUT_S} s"
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    telling = [line for line in lines if "not found" in line or "Exception" in line]
    return "; ".join(telling[-3:])


def _refuse_other_files(found: Sequence[tuple[Artifact, str]]) -> None:
    if not found:
        return
    coordinates = ", ".join(artifact.coordinate for artifact, _ in found)
    raise ConnectorMissing(
        f"jar {coordinates} is not the pinned one"
        if len(found) == 1
        else f"{len(found)} jars are not the pinned ones: {coordinates}",
        name=CONNECTOR_SETTING,
        value=coordinates,
        detail=" ".join(
            f"{artifact.file_name}: SHA-256 {digest}, pinned {artifact.sha256}."
            for artifact, digest in found
        ),
        hint="Do not use it: the repository served a different file.",
    )


def _refuse_missing(missing: Sequence[Artifact], directory: Path, complaint: str) -> None:
    if not missing:
        return
    coordinates = ", ".join(artifact.coordinate for artifact in missing)
    files = ", ".join(artifact.file_name for artifact in missing)
    pinned = " The wheel duolog contains them." if set(missing) <= set(SERVED) else ""
    raise ConnectorMissing(
        f"cannot fetch jar {coordinates}"
        if len(missing) == 1
        else f"cannot fetch {len(missing)} jars: {coordinates}",
        name=CONNECTOR_SETTING,
        value=coordinates,
        detail=complaint,
        hint=f"Jars are downloaded once. Without a network, put {files} into {directory}, "
        f"or run `duolog fetch-jars --dir DIR` on a machine with a network.{pinned}",
    )


def _place(jar: Path, directory: Path) -> None:
    """Copy a jar into a directory, where it appears complete or not at all."""
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
        copied = shutil.copy(jar, scratch)
        Path(copied).replace(directory / jar.name)


def main(arguments: Iterable[str] = ()) -> int:
    """Put jars into the cache; print their paths, one per line."""
    try:
        for jar in fetch_jars(",".join(arguments), jar_cache_dir()):
            print(jar)  # noqa: T201 - the output of the command
    except DuologError as error:
        print(f"error: {error.render()}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

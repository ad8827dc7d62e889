"""The jars that Spark needs in addition to its own: the Kafka connector's, and Duolog's kernel.

    connector set ── Maven coordinates, pinned by SHA-256
        │ fetched once by Spark's own resolver, in a short-lived process (no host is named here)
        ▼
    $XDG_CACHE_HOME/duolog/jars/*.jar ── verified at every start, offline from then on
    duolog/engine/kernel.jar          ── in the wheel, compiled from jvm/ when the wheel is built

Invariant: a file in the cache has the pinned digest or is not used. Files arrive by rename, so two
processes that fetch at the same time never see each other's partial jar.

`python -m duolog.engine.jvm.jars` fetches what is missing and prints the paths, one per line.

The connector's jars have other versions than Spark's own; this is the set that works.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError, DuologError
from duolog.engine.errors import ConnectorMissing, KernelMissing
from duolog.engine.jvm.java import ensure_java

FETCH_TIMEOUT_S: Final = 600
CONNECTOR_SETTING: Final = "connector"
COMPILE_AGAIN: Final = (
    "It was compiled from other sources than this Python package: run scripts/install in a "
    "clone, otherwise reinstall Duolog."
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """One jar: its Maven coordinate, and the SHA-256 of the file."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def coordinate(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


# The newest version of each that Maven serves and that works with pyspark 4.3.0, including
# real-time mode. kafka-clients before 3.9.2 have CVE-2026-35554.
SERVED: Final = (
    Artifact(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Artifact(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Artifact(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Artifact(
        "org.apache.commons",
        "commons-pool2",
        "2.12.0",
        "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b",
    ),
)


def connector_jars(selection: str = "", *, cache_dir: Path | None = None) -> tuple[Path, ...]:
    """Return the connector's jars; fetch them first if they are not in the cache.

    Args:
        selection: empty for the pinned set; else a directory of jars to use unchecked, or
            `group:artifact:version@sha256` items separated by commas.
        cache_dir: where to store the jars; default `jar_cache_dir()`.

    Raises:
        ConnectorMissing: a jar is neither in the cache nor available, or has a different digest.
        JavaMissing: jars must be fetched, and there is no Java to run the resolver.
    """
    if selection and Path(selection).is_dir():
        # The JVM that loads them has another working directory.
        return _jars_of(Path(selection).resolve())
    artifacts = parse_artifacts(selection) if selection else SERVED
    directory = cache_dir or jar_cache_dir()
    missing = [artifact for artifact in artifacts if not _is_kept(directory, artifact)]
    if missing:
        _fetch(missing, directory)
    return tuple(directory / artifact.file_name for artifact in artifacts)


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
            hint="Reinstall Duolog with a JDK 17 available; in a clone run scripts/install.",
        )
    return jar


def spark_home() -> Path:
    """Return pyspark's Spark directory without importing pyspark."""
    found = find_spec("pyspark")
    assert found is not None, "pyspark is a dependency"
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


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """Read `group:artifact:version@sha256,…`.

    Raises:
        ConfigError: an item does not have this form.
    """
    return tuple(_parse_artifact(item.strip()) for item in text.split(","))


def _parse_artifact(item: str) -> Artifact:
    coordinate, _, sha256 = item.partition("@")
    parts = coordinate.split(":")
    if len(parts) != 3 or not all(parts) or len(sha256) != 64:
        raise ConfigError(
            f'setting "{CONNECTOR_SETTING}" cannot be parsed at "{item}"',
            name=CONNECTOR_SETTING,
            value=item,
            hint="Give a directory of jars, or group:artifact:version@sha256 items.",
        )
    group, name, version = parts
    return Artifact(group, name, version, sha256.lower())


def _jars_of(directory: Path) -> tuple[Path, ...]:
    jars = tuple(sorted(directory.glob("*.jar")))
    if not jars:
        raise ConnectorMissing(
            f"no jars in directory {directory}", name=CONNECTOR_SETTING, value=str(directory)
        )
    return jars


def _is_kept(directory: Path, artifact: Artifact) -> bool:
    jar = directory / artifact.file_name
    return jar.is_file() and _sha256(jar) == artifact.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(artifacts: list[Artifact], directory: Path) -> None:
    ensure_java()
    directory.mkdir(parents=True, exist_ok=True)
    # Next to the target, so that the last step is a rename and not a copy.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
        complaint = _resolve_in_a_process(artifacts, Path(scratch))
        for artifact in artifacts:
            _keep(artifact, Path(scratch), directory, complaint)


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


def _keep(artifact: Artifact, scratch: Path, directory: Path, complaint: str) -> None:
    # The resolver names files group_artifact-version.jar.
    fetched = scratch / "jars" / f"{artifact.group}_{artifact.file_name}"
    if not fetched.is_file():
        raise ConnectorMissing(
            f"cannot fetch jar {artifact.coordinate}",
            name=CONNECTOR_SETTING,
            value=artifact.coordinate,
            detail=complaint,
            hint=f"It is downloaded once. Without a network, put {artifact.file_name} into "
            f"{directory}.",
        )
    found = _sha256(fetched)
    if found != artifact.sha256:
        raise ConnectorMissing(
            f"jar {artifact.coordinate} is not the pinned one",
            name=CONNECTOR_SETTING,
            value=artifact.coordinate,
            detail=f"SHA-256 {found}, pinned {artifact.sha256}.",
            hint="Do not use it: the repository served a different file.",
        )
    kept = directory / artifact.file_name
    arriving = scratch / f"{artifact.file_name}.checked"
    shutil.move(fetched, arriving)
    arriving.replace(kept)


def main(arguments: Iterable[str] = ()) -> int:
    """Fetch what is missing; print the paths of the jars, one per line."""
    try:
        for jar in connector_jars(",".join(arguments)):
            print(jar)  # noqa: T201 - the output of the command
    except DuologError as error:
        print(f"error: {error.render()}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compile `jvm/src` into one jar: `python jvm/build.py --out FILE [--jars DIRECTORY]`.

    javac --release 17 -Xlint:all -Xdoclint:reference -Werror, against the jars of the installed
    pyspark and of Spark's Kafka connector (DIRECTORY; by default $XDG_CACHE_HOME/duolog/jars,
    where the engine keeps them)

The jar is reproducible: equal sources give equal bytes (sorted names, one fixed time). It is
written under a temporary name and renamed, so a reader never sees an incomplete jar. It contains
a digest of its sources, and a jar that is up to date is not built again. Imports only the standard
library, because the build hook runs it before Duolog is installed.

`python jvm/build.py --out FILE --check` builds nothing; its exit status is 0 if FILE is up to date.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
JAVA_RELEASE = 17
CONNECTOR = "spark-sql-kafka-0-10_*.jar"
# path: manifests of jars name jars that do not exist. classfile, processing: annotations of Scala
# and of libraries, which javac does not know. None of them concerns our sources.
LINT = "-Xlint:all,-path,-classfile,-processing"
# A link in a comment to a class or method that does not exist is an error.
DOC_LINT = "-Xdoclint:reference/private"
MADE_OF = "META-INF/made-of.sha256"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
JDK_HINT = (
    "Install a JDK 17: Debian and Ubuntu `apt install openjdk-17-jdk-headless`, "
    "macOS `brew install openjdk@17`. For a JDK elsewhere, set JAVA_HOME."
)


class BuildError(Exception):
    """The kernel cannot be built; the message says what to do."""


def build(out: Path, connector_dir: Path) -> Path:
    """Compile the kernel and write its jar to `out`, unless that jar is up to date.

    Raises:
        BuildError: the JDK, pyspark or the connector jars are missing, or the sources do not
            compile.
    """
    javac = find_javac()
    against = [pyspark_jars(), connector_jars(connector_dir)]
    made_of = digest(against)
    if says(out) != made_of:
        class_path = os.pathsep.join(f"{directory}/*" for directory in against)
        with tempfile.TemporaryDirectory(prefix="duolog-kernel-") as scratch:
            compile_sources(javac, class_path, Path(scratch))
            write_jar(Path(scratch), out, made_of)
    return out


def is_fresh(out: Path, connector_dir: Path) -> bool:
    """Return true if the jar at `out` is up to date."""
    try:
        return says(out) == digest([pyspark_jars(), connector_jars(connector_dir)])
    except BuildError:
        return False


def digest(against: list[Path]) -> str:
    """Return the SHA-256 of all inputs: sources, this file, names and sizes of jars."""
    found = hashlib.sha256()
    for path in (Path(__file__), *sorted(SOURCES.rglob("*.java"))):
        text = path.read_bytes()
        found.update(f"{path.relative_to(SOURCES.parent).as_posix()} {len(text)}\n".encode())
        found.update(text)
    for directory in against:
        for jar in sorted(directory.glob("*.jar")):
            found.update(f"{jar.name} {jar.stat().st_size}\n".encode())
    return found.hexdigest()


def says(jar: Path) -> str | None:
    """Return the digest in a jar; None if the jar does not exist or is incomplete."""
    try:
        with zipfile.ZipFile(jar) as opened:
            return opened.read(MADE_OF).decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def find_javac() -> str:
    """Return the `javac` of JAVA_HOME, or else of PATH.

    Raises:
        BuildError: there is none, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    named = Path(home, "bin", "javac") if home else None
    javac = str(named) if named and named.is_file() else shutil.which("javac")
    if javac is None:
        raise BuildError(f"no JDK on this machine (javac is not found). {JDK_HINT}")
    answer = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"javac (?:1\.)?(\d+)", answer.stdout + answer.stderr)
    if version is None or int(version.group(1)) < JAVA_RELEASE:
        raise BuildError(f"{javac} is older than Java {JAVA_RELEASE}. {JDK_HINT}")
    return javac


def pyspark_jars() -> Path:
    """Return the directory of pyspark's jars, without importing pyspark.

    Raises:
        BuildError: pyspark is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise BuildError("pyspark is not installed: pip install pyspark==4.3.0")
    return Path(spec.origin).parent / "jars"


def connector_jars(directory: Path) -> Path:
    """Return `directory`, which must hold the connector's jars."""
    if not any(directory.glob(CONNECTOR)):
        raise BuildError(
            f"no Kafka connector in {directory}: fetch it with python -m duolog.engine.jvm.jars"
        )
    return directory


def compile_sources(javac: str, class_path: str, classes: Path) -> None:
    sources = sorted(str(path) for path in SOURCES.rglob("*.java"))
    options = ["--release", str(JAVA_RELEASE), LINT, DOC_LINT, "-Werror"]
    options += ["-parameters", "-encoding", "utf-8"]
    done = subprocess.run(
        [javac, *options, "-cp", class_path, "-d", str(classes), *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"javac refused the kernel:\n{done.stdout}{done.stderr}")


def write_jar(classes: Path, out: Path, made_of: str) -> None:
    """Write the class files as a jar whose bytes depend only on them."""
    files = sorted(
        (path.relative_to(classes).as_posix(), path) for path in classes.rglob("*.class")
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    arriving = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(arriving, "w") as jar:
            add(jar, "META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n")
            add(jar, MADE_OF, made_of.encode())
            for name, path in files:
                add(jar, name, path.read_bytes())
        arriving.replace(out)
    finally:
        arriving.unlink(missing_ok=True)


def add(jar: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, FIXED_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    jar.writestr(entry, data)


def cached_jars() -> Path:
    """Return the directory in which `duolog.engine.jvm.jars` keeps the connector's jars."""
    cache_home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache_home) / "duolog" / "jars"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile Duolog's kernel into one jar.")
    parser.add_argument("--out", type=Path, required=True, help="the jar to write")
    parser.add_argument("--jars", type=Path, default=cached_jars(), help="the connector's jars")
    parser.add_argument("--check", action="store_true", help="build nothing: is FILE up to date?")
    options = parser.parse_args()
    if options.check:
        return 0 if is_fresh(options.out, options.jars) else 1
    try:
        build(options.out, options.jars)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

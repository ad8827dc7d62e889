"""Find the Java that runs Spark, and check its version before Spark starts.

Spark's own message for a missing Java is a stack trace about a gateway that exited; this module
names the package to install instead.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from duolog.engine.errors import JavaMissing

JAVA_VERSION_MIN: Final = 17
INSTALL_HINT: Final = (
    "Install a JDK 17: Debian and Ubuntu `apt-get install openjdk-17-jdk-headless`, "
    "Fedora `dnf install java-17-openjdk-devel`, macOS `brew install openjdk@17`. "
    "For a JDK elsewhere, set JAVA_HOME."
)
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure_java() -> Path:
    """Return the `java` executable that Spark will start.

    Raises:
        JavaMissing: no Java is found, or it is older than Java 17.
    """
    java = find_java()
    if java is None:
        raise JavaMissing("no Java on this machine", name="JAVA_HOME", hint=INSTALL_HINT)
    version = major_version(_ask_version(java))
    if version is None or version < JAVA_VERSION_MIN:
        raise JavaMissing(
            f"the Java on this machine is too old: {java}",
            name="JAVA_HOME",
            value=str(java),
            detail=f"It is version {version or 'unknown'}; Spark needs {JAVA_VERSION_MIN}.",
            hint=INSTALL_HINT,
        )
    return java


def find_java() -> Path | None:
    """Return `$JAVA_HOME/bin/java`, else the first `java` on PATH, as Spark does."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        return java if java.is_file() else None
    found = shutil.which("java")
    return Path(found) if found else None


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


def _ask_version(java: Path) -> str:
    answer = subprocess.run(  # noqa: S603 - the Java that the user chose
        [str(java), "-version"], capture_output=True, text=True, check=False, timeout=60
    )
    return answer.stderr + answer.stdout

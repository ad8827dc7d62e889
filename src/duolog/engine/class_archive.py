"""The JVM's archive of parsed classes: written once, as a first query's session ends, mapped by later ones.

    no archive ─▶ -XX:ArchiveClassesAtExit=scratch ─▶ the JVM ends well ─▶ renamed into the cache
    archive    ─▶ -XX:SharedArchiveFile=archive

Spark loads some fifteen thousand classes before the first row; parsing and checking them is a quarter
of the CPU time of a start. The archive is named after Java and every jar of the class path, so a
change of either makes a new one. The JVM checks it too, and starts without it when it does not fit.

Invariant: a file in the cache was written whole, by a JVM that ended by itself.
"""

import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DIRECTORY: Final = "classes"
_ARRIVING: Final = "arriving.jsa"
_KEPT_MAX: Final = 3
# Thousands of lines about classes that cannot be archived, such as generated ones.
_QUIET: Final = "-Xlog:cds*=off"


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """One archive: where it is kept, and where a session that makes it writes it first."""

    kept: Path
    arriving: Path

    @classmethod
    def of(
        cls, java: Path, jars: Iterable[Path], *, cache_dir: Path, scratch: Path
    ) -> "ClassArchive":
        """Return the archive that fits this Java and these jars, whether it exists or not."""
        kept = cache_dir / _DIRECTORY / f"{_fingerprint(java, jars)}.jsa"
        return cls(kept, scratch / _ARRIVING)

    @property
    def exists(self) -> bool:
        return self.kept.is_file()

    def java_options(self, *, write: bool) -> str:
        """Return the options that let a JVM read the archive; or write it as it ends, if `write`."""
        if self.exists:
            option = f"-XX:SharedArchiveFile={self.kept}"
        elif write:
            option = f"-XX:ArchiveClassesAtExit={self.arriving}"
        else:
            return ""
        return f'"{option}" {_QUIET}'

    def keep(self) -> None:
        """Take over what a JVM has written at its end; the oldest archives go, as one is 190 MB."""
        if not self.arriving.is_file():
            return
        directory = self.kept.parent
        # Code that is run unchecked: nobody else may write there.
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self.kept.with_suffix(f".{self.arriving.parent.name}")
        shutil.copyfile(self.arriving, beside)
        beside.replace(self.kept)
        # Several, because two installations of one user would take each other's away.
        by_age = sorted(directory.glob("*.jsa"), key=lambda file: file.stat().st_mtime_ns)
        for outdated in by_age[:-_KEPT_MAX]:
            outdated.unlink(missing_ok=True)


def _fingerprint(java: Path, jars: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in (java.resolve(), *jars):
        found = file.stat()
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]

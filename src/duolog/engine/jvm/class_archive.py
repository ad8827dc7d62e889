"""The JVM's archive of parsed classes: written once, as a first query's JVM ends, mapped by later ones.

    no archive ─▶ -XX:ArchiveClassesAtExit=….arriving ─▶ it is whole ─▶ renamed, by whoever sees it first
    archive    ─▶ -XX:SharedArchiveFile=….jsa

Spark loads some fifteen thousand classes before the first row; parsing and checking them is a quarter
of the CPU time of a start. The archive is named after Java and every jar of the class path, so a
change of either makes a new one. The JVM checks it too, and starts without it when it does not fit.

A JVM writes the header of its archive last, over the zeros that it has left for it: a file that begins with them is
not whole. Source: OpenJDK, FileMapInfo::open_for_write and ArchiveBuilder::write_archive.

Invariant: a file in the cache that ends in .jsa was written whole.
"""

import contextlib
import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.engine.jvm.archive_watch import WRITE_S

_DIRECTORY: Final = "classes"
_ARRIVING: Final = "arriving"
_KEPT_MAX: Final = 3
_HEADER_BYTES: Final = 4
# Nobody writes for so long: `archive_watch` ends it.
_ABANDONED_AFTER_S: Final = 10 * WRITE_S
# Thousands of lines about classes that cannot be archived, such as generated ones.
_QUIET: Final = "-Xlog:cds*=off"
SHRINKS: Final = "-XX:+UseAdaptiveSizePolicyWithSystemGC"
"""Lets `ParentWatch.end` give back the heap; the JVM's collector of garbage, ParallelGC, would keep its size else."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """One archive: where it is kept, and where a JVM that makes it writes it first."""

    kept: Path
    arriving: Path

    @classmethod
    def of(
        cls, java: Path, jars: Iterable[Path], *, cache_dir: Path, scratch: Path
    ) -> "ClassArchive":
        """Return the archive that fits this Java and these jars, whether it exists or not."""
        kept = cache_dir / _DIRECTORY / f"{_fingerprint(java, jars)}.jsa"
        return cls(kept, kept.with_suffix(f".{scratch.name}.{_ARRIVING}"))

    @property
    def exists(self) -> bool:
        return self.kept.is_file()

    @property
    def is_wanted(self) -> bool:
        """Whether there is none, and no JVM that has ended is just writing it."""
        return not self.exists and not any(self._arriving())

    def java_options(self, *, write: bool) -> str:
        """Return the options that let a JVM read the archive; or write it as it ends, if `write`."""
        if self.exists:
            option = f"-XX:SharedArchiveFile={self.kept}"
        elif write:
            try:
                # Code that is run unchecked: nobody else may write there.
                self.kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:  # A cache that can only be read, say.
                return ""
            return f'"-XX:ArchiveClassesAtExit={self.arriving}" {_QUIET} {SHRINKS}'
        else:
            return ""
        return f'"{option}" {_QUIET}'

    def take_over(self) -> None:
        """Take what JVMs have written whole; the oldest archives go, as one is 190 MB, and so does what is left over.

        Left over are parts of archives whose JVM was killed, and archives for another Java or other jars, an older
        Duolog's say, that no start of these has taken.
        """
        for arriving in list(self._arriving()):
            # Of two that come to the same file one is late; and a cache may be one that can only be read.
            with contextlib.suppress(OSError):
                if _is_whole(arriving):
                    arriving.replace(self.kept)
        for left_over in self.kept.parent.glob(f"*.{_ARRIVING}"):
            with contextlib.suppress(OSError):
                if time.time() - left_over.stat().st_mtime > _ABANDONED_AFTER_S:
                    left_over.unlink()
        # Several, because two installations of one user would take each other's away.
        with contextlib.suppress(OSError):  # Another process may do the same.
            by_age = sorted(
                self.kept.parent.glob("*.jsa"), key=lambda file: file.stat().st_mtime_ns
            )
            for outdated in by_age[:-_KEPT_MAX]:
                outdated.unlink()

    def _arriving(self) -> Iterator[Path]:
        return self.kept.parent.glob(f"{self.kept.stem}.*.{_ARRIVING}")


def _is_whole(archive: Path) -> bool:
    with archive.open("rb") as file:
        return any(file.read(_HEADER_BYTES))


def _fingerprint(java: Path, jars: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in (java.resolve(), *jars):
        found = file.stat()
        digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]

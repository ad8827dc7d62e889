"""The JVM's class-data archive: written when the first JVM ends, and mapped by later ones.

    no archive ─▶ -XX:ArchiveClassesAtExit=….arriving ─▶ complete ─▶ renamed by the first process
    that sees it
    archive    ─▶ -XX:SharedArchiveFile=….jsa

Spark loads some fifteen thousand classes before the first row; parsing and verifying them is a
quarter of the CPU time of a start. The archive's name is a digest of Java and of every jar on the
class path, so a change of either creates a new one. The JVM checks it too, and starts without it if
it does not match.

A JVM writes the header of its archive last, over zeros that it reserved: a file that begins with
zeros is incomplete. Source: OpenJDK, FileMapInfo::open_for_write and ArchiveBuilder::write_archive.

Invariant: a file in the cache that ends in .jsa is complete.
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
# No JVM writes for this long: `archive_watch` kills it first.
_ABANDONED_AFTER_S: Final = 10 * WRITE_S
# Suppresses thousands of lines about classes that cannot be archived, such as generated ones.
_QUIET: Final = "-Xlog:cds*=off"
SHRINKS: Final = "-XX:+UseAdaptiveSizePolicyWithSystemGC"
"""Lets `ParentWatch.end` shrink the heap; otherwise ParallelGC would keep its size."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """One archive: its final path, and the path that a JVM writes to first."""

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
        """True if there is no archive, and no JVM is writing one while it shuts down."""
        return not self.exists and not any(self._arriving())

    def java_options(self, *, write: bool) -> str:
        """Return the options that let a JVM read the archive; or write it at exit, if `write`."""
        if self.exists:
            option = f"-XX:SharedArchiveFile={self.kept}"
        elif write:
            try:
                # The JVM runs this code unverified: no other user may write there.
                self.kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:  # For example, a read-only cache.
                return ""
            return f'"-XX:ArchiveClassesAtExit={self.arriving}" {_QUIET} {SHRINKS}'
        else:
            return ""
        return f'"{option}" {_QUIET}'

    def take_over(self) -> None:
        """Rename archives that JVMs completed; remove the oldest ones (190 MB each) and leftovers.

        Leftovers are partial archives of killed JVMs, and archives for another Java or other jars,
        such as an older Duolog's, that no start renamed.
        """
        for arriving in list(self._arriving()):
            # Another process may have renamed it first, and the cache may be read-only.
            with contextlib.suppress(OSError):
                if _is_whole(arriving):
                    arriving.replace(self.kept)
        for left_over in self.kept.parent.glob(f"*.{_ARRIVING}"):
            with contextlib.suppress(OSError):
                if time.time() - left_over.stat().st_mtime > _ABANDONED_AFTER_S:
                    left_over.unlink()
        # Keep several: two installations of one user would remove each other's.
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

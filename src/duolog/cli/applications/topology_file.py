"""Load a topology from a Python file, and reload it when the file or a module next to it changes.

A reload drops only the modules imported from the file's own directory from `sys.modules`.
"""

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from importlib import invalidate_caches
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import duolog
from duolog.cli.errors import Terminated
from duolog.core.errors import DuologError, StatementError
from duolog.core.exception_text import describe_exception

if TYPE_CHECKING:
    from duolog.dsl.topology import Topology

_MODULE: Final = "duolog_run_file"
_NEVER_OWN: Final = ("duolog", "__main__", "__mp_main__")
_INSTALLED: Final = tuple(
    Path(place).resolve() for place in (sys.prefix, sys.base_prefix, Path(duolog.__file__).parent)
)
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
_STILL_S: Final = 0.1

Stamp = tuple[int, int, int] | None
"""Identifies the content of a file by time, size and inode; None if there is no file."""


class TopologyFile:
    """Loads the topology of a file, repeatedly if the file changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._directory = path.resolve().parent
        self._own_modules: set[str] = set()
        self._stamps: dict[Path, Stamp] = {path.resolve(): None}

    def load(self) -> "Topology":
        """Return the file's `topology`; if it is a function, call it.

        Raises:
            StatementError: the file defines none, or raises an error.
        """
        began_ns = time.time_ns()
        before = {path: _stamp(path) for path in self._stamps}
        for name in self._own_modules:
            sys.modules.pop(name, None)
        invalidate_caches()
        known = set(sys.modules)
        tried: set[Path] = set()
        try:
            return self._topology()
        except StatementError as error:
            # A module that failed to load, or does not exist yet, is not in sys.modules.
            tried = set(self._files_of(error))
            raise
        finally:
            found = {name: file for name in sys.modules.keys() - known if (file := self._own(name))}
            self._own_modules = set(found)
            self._stamps = {
                path: before[path] if path in before else _stamp(path, unless_since_ns=began_ns)
                for path in {self.path.resolve(), *found.values(), *tried}
            }

    def has_changed(self) -> bool:
        """Return whether a file differs from the version that was last loaded."""
        return any(_stamp(path) != stamp for path, stamp in self._stamps.items())

    def wait_until_still(self) -> None:
        """Wait until the files stop changing; an editor may save in several steps."""
        before, now = None, self._now()
        while before != now:
            time.sleep(_STILL_S)
            before, now = now, self._now()

    def _now(self) -> list[Stamp]:
        return [_stamp(path) for path in self._stamps]

    def _topology(self) -> "Topology":
        from duolog.dsl.topology import Topology  # noqa: PLC0415 - slow to import

        module = self._execute()
        found = getattr(module, "topology", None)
        if callable(found) and not isinstance(found, Topology):
            found = self._call(found)
        if not isinstance(found, Topology):
            others = [name for name, value in vars(module).items() if isinstance(value, Topology)]
            detail = (
                f"It defines a topology named `{others[0]}`; the name must be `topology`."
                if others
                else ""
            )
            if found is not None:
                detail = f"Its `topology` is of type {type(found).__name__}."
            raise StatementError(
                f'file "{self.path}" defines no topology',
                detail=detail,
                hint='Define `topology = Topology("name")`, or a function `topology()` '
                "that returns one.",
            )
        return found

    def _execute(self) -> ModuleType:
        spec = spec_from_file_location(_MODULE, self.path)
        if spec is None or spec.loader is None:
            raise StatementError(
                f'file "{self.path}" is not a Python file', hint="Rename it so that it ends in .py."
            )
        module = module_from_spec(spec)
        # As with `python FILE`, modules next to the file can be imported.
        if str(self._directory) not in sys.path:
            sys.path.insert(0, str(self._directory))
        sys.modules[spec.name] = module
        execute = spec.loader.exec_module
        # Python considers bytecode valid if the source has the same size and modification second,
        # which is too coarse.
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            self._call(lambda: execute(module))
        finally:
            sys.dont_write_bytecode = before
        return module

    def _call(self, run: Callable[[], object]) -> object:
        try:
            return run()
        except (DuologError, KeyboardInterrupt, Terminated):
            raise
        except BaseException as error:
            # A SystemExit in the file must not end the command successfully.
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> StatementError:
        """Return the error for a failed load, with its file and line."""
        places = list(self._own_places(error))
        path, line = places[-1] if places else (self.path.resolve(), None)
        shown = self.path.parent / path.relative_to(self._directory)
        at = f", line {line}" if line else ""
        return StatementError(
            f'file "{shown}"{at} cannot be run: {describe_exception(error)}',
            hint=f"{_nearest(error)}Run `python {self.path}` for the full traceback.",
        )

    def _own_places(self, error: BaseException) -> Iterator[tuple[Path, int | None]]:
        """Yield file and line of the user's files in the traceback of an error."""
        frames = traceback.extract_tb(error.__traceback__)
        places = [(frame.filename, frame.lineno) for frame in frames]
        if isinstance(error, SyntaxError) and error.filename:
            places.append((error.filename, error.lineno))
        for filename, line in places:
            if path := self._own_file(filename):
                yield path, line

    def _files_of(self, error: BaseException | None) -> Iterator[Path]:
        """Yield the user's files that an error and its causes refer to."""
        while error is not None:
            yield from (path for path, _ in self._own_places(error))
            if isinstance(error, ModuleNotFoundError) and error.name:
                missing = self._directory.joinpath(*error.name.split("."))
                yield from (missing.with_suffix(".py"), missing / "__init__.py")
            error = error.__cause__

    def _own(self, module: str) -> Path | None:
        """Return the file of a module if it belongs to the user."""
        if module.partition(".")[0] in _NEVER_OWN:
            return None
        return self._own_file(getattr(sys.modules[module], "__file__", None))

    def _own_file(self, filename: str | None) -> Path | None:
        if not filename or not Path(filename).is_file():
            return None
        path = Path(filename).resolve()
        # The same directory may contain a virtual environment, or Duolog itself.
        inside = path.is_relative_to(self._directory)
        installed = not _PACKAGES.isdisjoint(path.parts) or any(
            path.is_relative_to(place) for place in _INSTALLED
        )
        return path if inside and not installed else None


def load_topology(path: Path) -> "Topology":
    """Return the topology of a file; see `TopologyFile.load`."""
    return TopologyFile(path).load()


def _nearest(error: BaseException) -> str:
    """Suggest the most similar attribute, as Python does for an uncaught AttributeError."""
    if not isinstance(error, AttributeError) or not error.name:
        return ""
    public = [name for name in dir(error.obj) if not name.startswith("_")]
    nearest = get_close_matches(error.name, public, n=1)
    return f'Did you mean "{nearest[0]}"? ' if nearest else ""


def _stamp(path: Path, *, unless_since_ns: int | None = None) -> Stamp:
    """Return the stamp of a file; None if it is missing or was modified after `unless_since_ns`."""
    try:
        found = path.stat()
    except OSError:
        return None
    if unless_since_ns is not None and found.st_mtime_ns >= unless_since_ns:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

"""Resolve the modules with functions that are given on the command line."""

from collections.abc import Sequence
from pathlib import Path

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.udf.modules import add_directories, functions_of


def modules_named(given: Sequence[str], *files: Path) -> list[str]:
    """Return the names of modules given by name or file, and make them importable.

    Modules are searched next to `files`, then in the working directory. This also applies to the
    modules that CREATE FUNCTION names.
    """
    found = [Path(one) for one in given]
    beside = [file.parent for file in (*files, *found) if file.suffix]
    add_directories(*dict.fromkeys((*beside, Path())))
    return [path.stem if path.suffix == ".py" else str(path) for path in found]


def catalog_of(modules: Sequence[str]) -> Catalog:
    """Return a catalog that contains only the functions of modules.

    Raises:
        StatementError: a module cannot be imported, or has no functions.
    """
    found = (function for module in modules for function in functions_of(module))
    return Catalog(functions={function.name: function for function in found})

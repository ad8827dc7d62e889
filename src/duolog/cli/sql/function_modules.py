"""Modules with functions, as a command line names them."""

from collections.abc import Sequence
from pathlib import Path

from duolog.ksql.catalog.catalog import Catalog
from duolog.ksql.udf.modules import functions_of, look_in


def modules_named(given: Sequence[str], *files: Path) -> list[str]:
    """Return the names of modules, each given as such or as a file, and let Python find them.

    Modules are found beside `files`, then in the directory of the process: also those that CREATE FUNCTION names.
    """
    found = [Path(one) for one in given]
    beside = [file.parent for file in (*files, *found) if file.suffix]
    look_in(*dict.fromkeys((*beside, Path())))
    return [path.stem if path.suffix == ".py" else str(path) for path in found]


def catalog_of(modules: Sequence[str]) -> Catalog:
    """Return a catalog that has the functions of modules and nothing else.

    Raises:
        StatementError: one cannot be imported, or has none.
    """
    found = (function for module in modules for function in functions_of(module))
    return Catalog(functions={function.name: function for function in found})

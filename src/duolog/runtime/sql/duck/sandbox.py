"""Open databases that cannot reach anything outside their memory.

No text of a client reaches DuckDB: `queries` translates parsed statements, binds every name, and
generates DuckDB's SQL with its own names. The sandbox is the second line of defence:

    enable_external_access = false      no files, networks, ATTACH, COPY, INSTALL, LOAD
    python_enable_replacements = false  no variables of this process as tables
    temp_directory = ''                 no files for what does not fit into memory
    lock_configuration = true           none of these can be changed; only the memory limit can,
                                        by `answers`

Source: DuckDB, "Securing DuckDB".
"""

from typing import Final

from duolog.core.engine_packages import ensure_engine_installed

ensure_engine_installed(("duckdb",))  # duolog-broker is installed without it.
import duckdb  # noqa: E402 - as above
from duckdb import DuckDBPyConnection  # noqa: E402 - as above

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
_SETTINGS: Final = (
    # Division by zero gives null, as in SQL; DOUBLEs have Java's infinity.
    "SET GLOBAL error_on_division_by_zero = false",
    "SET GLOBAL TimeZone = 'UTC'",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL allowed_configs = ['memory_limit']",
    "SET GLOBAL lock_configuration = true",
)


def connect(*, threads: int | None = None) -> DuckDBPyConnection:
    """Open an in-memory database in the sandbox, with one thread per core or fewer."""
    connection = duckdb.connect(config=_CONFIG | ({} if threads is None else {"threads": threads}))
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection

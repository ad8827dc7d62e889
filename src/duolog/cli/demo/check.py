"""Compare the live tables with the same aggregation done in one batch.

DuckDB reads the files of the data set, not the topics, and computes both tables in SQL. All columns
are compared exactly, including the mean, which is a sum of integers divided once.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from duolog.cli.demo.dataset import FLIGHTS_ORDER, FLIGHTS_PER_YEAR, FLIGHTS_SQL, Dataset, connect
from duolog.cli.demo.tables import Row
from duolog.cli.demo.topics import BY_AIRLINE, BY_DESTINATION

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COLUMNS: Final = ("name", "flights", "delay_count", "delay_sum", "delay_mean", "delay_max")

_KEYS: Final = {
    BY_AIRLINE: ("carrier", "airlines", "carrier"),
    BY_DESTINATION: ("dest", "airports", "faa"),
}

# Like the live table, computes the mean from the sums over all years.
_BATCH_SQL: Final = """
    WITH numbered AS (
        SELECT *, row_number() OVER (ORDER BY {order}) AS number FROM ({flights})
    ),
    sums AS (
        SELECT {key} AS key,
               sum(if(number <= $rest, $years + 1, $years))::BIGINT AS flights,
               coalesce(sum(if(number <= $rest, $years + 1, $years))
                   FILTER (WHERE dep_delay IS NOT NULL), 0)::BIGINT AS delay_count,
               sum(dep_delay * if(number <= $rest, $years + 1, $years))::BIGINT AS delay_sum,
               max(dep_delay) AS delay_max
        FROM numbered WHERE $years > 0 OR number <= $rest GROUP BY 1
    )
    SELECT sums.key, named.name, flights, delay_count, delay_sum,
           delay_sum::DOUBLE / nullif(delay_count, 0)::DOUBLE AS delay_mean, delay_max
    FROM sums LEFT JOIN read_csv($names) named ON named.{name_key} = sums.key
"""


class Difference(NamedTuple):
    """A row that differs between the two sides; None if a side lacks the row."""

    table: str
    key: str
    live: Row | None
    batch: Row | None

    def render(self) -> str:
        return f"{self.table} {self.key}: live {self.live}, batch {self.batch}"


def differences(
    tables: dict[str, dict[str, Row]], dataset: Dataset, events: int
) -> list[Difference]:
    """Compare the live tables with the batch over the first `events` flights."""
    found: list[Difference] = []
    with connect() as database:
        for topic, rows in tables.items():
            live = {key: {name: row[name] for name in COLUMNS} for key, row in rows.items()}
            batch = _batch(database, topic, dataset, events)
            found += [
                Difference(topic, key, live.get(key), batch.get(key))
                for key in sorted(live.keys() | batch.keys())
                if live.get(key) != batch.get(key)
            ]
    return found


def _batch(
    database: "DuckDBPyConnection", topic: str, dataset: Dataset, events: int
) -> dict[str, Row]:
    key, table, name_key = _KEYS[topic]
    years, rest = divmod(events, FLIGHTS_PER_YEAR)
    sql = _BATCH_SQL.format(order=FLIGHTS_ORDER, flights=FLIGHTS_SQL, key=key, name_key=name_key)
    values: dict[str, object] = {
        "csv": str(dataset.flights_csv()),
        "names": str(dataset.table_csv(table)),
        "years": years,
        "rest": rest,
    }
    rows = database.execute(sql, values).fetchall()
    return {str(row[0]): dict(zip(COLUMNS, row[1:], strict=True)) for row in rows}

"""Names of the DSL's methods in other libraries: pandas, Polars, PySpark, Kafka Streams in Java.

    orders.groupby("item")       a stream has no "groupby"; hint: Write group_by("item").
    orders.amount                hint: It is a column: col("amount").

Two spellings of one name need no row here: `groupBy`, `group_by`. The pages `from-pandas.md` and
`from-kafka-streams.md` show whole programs.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from inspect import Parameter
from typing import Final

from duolog.core.errors import StatementError

_JOINS: Final = {
    "inner": "join",
    **dict.fromkeys(("left", "leftouter"), "left_join"),
    **dict.fromkeys(("outer", "full", "fullouter"), "outer_join"),
}


class UnknownMethod(StatementError, AttributeError):
    """A method or attribute that does not exist on an object of the DSL."""


class UnknownArgument(StatementError, TypeError):
    """A named argument that a method does not accept."""


def _rows(rows: Mapping[str, str]) -> dict[str, str]:
    """Return hints by name, from rows with several names each."""
    return {name: hint for names, hint in rows.items() for name in names.split()}


_NO_END: Final = "A stream has no end. "
_ROWS_NOW: Final = "for the present rows of a table table.to_pandas()"

OF_RECORDS: Final = _rows(
    {
        "agg sum mean avg median std var nunique size": (
            'Group first: group_by("item").aggregate(total=sum_("amount")).'
        ),
        "count aggregate reduce cogroup": 'Group first: group_by("item").count().',
        "select selectExpr get project": 'Write map_values("item", total=col("amount") * 2).',
        "assign withColumn mutate insert eval": 'Write with_columns(total=col("amount") * 2).',
        "rename withColumnRenamed withColumnsRenamed toDF": (
            'Write map_values("item", total=col("amount")), with every column to keep.'
        ),
        "drop pop": 'List the columns to keep: map_values("item", "amount").',
        "head tail limit take show sample first last display": (
            f"{_NO_END}Write print(limit=10) to see records as they pass, or {_ROWS_NOW}.head()."
        ),
        "where query loc iloc": 'Write filter(col("amount") > 10).',
        "drop_duplicates dropDuplicates unique dropDuplicatesWithinWatermark": (
            'Write distinct(by="id", within="1 hour"), which keeps the first record of each id. '
            "A table has the last one of each key: to_table()."
        ),
        "sort sort_values orderBy order_by nlargest nsmallest": (
            f'{_NO_END}Aggregate top_k("amount", 3), or write {_ROWS_NOW}.sort_values("amount").'
        ),
        "pivot pivot_table melt unpivot transpose": f"{_NO_END}Write {_ROWS_NOW}.pivot(...).",
        "apply applymap pipe map_elements mapInPandas": (
            "Give the function: map_values(function) or with_columns(price=function); "
            "its parameters are columns."
        ),
        "transform transformValues flatTransform flatTransformValues": (
            "Write process(MyProcessor) or process_values(MyProcessor)."
        ),
        "fillna fill_null": 'Write with_columns(amount=coalesce(col("amount"), 0)).',
        "dropna drop_nulls": 'Write filter(col("amount").is_not_null()).',
        "astype cast": 'Write with_columns(amount=col("amount").cast(int)).',
        "set_index keyBy key_by with_key": 'Write select_key("customer").',
        "columns dtypes printSchema shape info describe": "Write .schema.",
        "to_csv to_parquet to_json to_sql write writeStream writeTo sink": 'Write to("topic").',
        "collect toLocalIterator iterrows itertuples": (
            "Write for_each(function), or read a table's present rows: table.to_dicts()."
        ),
        "rolling resample window groupby_dynamic group_by_dynamic": (
            'Write group_by("item").windowed_by(tumbling("1 hour")).count().'
        ),
        "windowed_by": 'Group first: group_by("item").windowed_by(tumbling("1 hour")).count().',
        "withWatermark": 'Set how late records may be: tumbling("1 hour", grace="5 minutes").',
        "union unionAll unionByName append vstack concat": "Write merge(other_stream).",
        "through": 'Write repartition(), or to("topic") and topology.stream("topic", ...).',
        "to_stream": "It is already a stream.",
        "branch": 'Write split(large=col("amount") > 100, default="small").',
        "foreachBatch": "Write for_each(function).",
        "queryableStoreName": "Write store_name.",
        "alias": 'Write named("step"), or prefix="c_" in a join.',
        "persist cache checkpoint": "Remove it: a stream that two steps read is computed once.",
        "start run": "Write Application(topology, bootstrap_servers=...).start().",
    }
)

OF_GROUPS: Final = _rows(
    {
        "agg sum mean avg min max median std var first last nunique": (
            'Write aggregate(total=sum_("amount"), mean=avg("amount")).'
        ),
        "size length len": "Write count().",
        "window rolling resample": 'Write windowed_by(tumbling("1 hour")).',
        "apply transform fold": "Write aggregate(initializer=..., adder=...).",
        "filter map_values with_columns select to join to_stream to_table print select_key merge": (
            "Create a table of the groups first: count() or aggregate(...)."
        ),
        "suppress": "Create a table of the windows first: count() or aggregate(...).",
    }
)

OF_COLUMNS: Final = _rows(
    {
        "isna isnull": "Write is_null().",
        "notna notnull": "Write is_not_null().",
        "fillna fill_null ifnull": 'Write coalesce(col("amount"), 0).',
        "astype": "Write cast(int).",
        "str dt": 'Methods of texts are methods of the column: col("name").upper().',
        "apply map map_elements": 'Write call(function, col("amount")).',
        "sum": 'Write sum_("amount").',
        "mean avg": 'Write avg("amount").',
        "min max": 'Write min_("amount") or max_("amount").',
        "count": 'Write count("amount").',
        "first last": 'Write first("amount") or last("amount").',
        "median quantile": 'Write percentile("amount", 0.5).',
        "nunique n_unique": 'Write count_distinct("user").',
        "std": 'Write stddev("amount").',
        "hour minute second day weekday month year date strftime": (
            'Write call(function, col("at")), with a function of a datetime.'
        ),
        "getItem getField": 'Write col("page")["url"], or col("page.url").',
        "strip": "Write trim().",
        "len size": "Write length().",
        "rlike match": 'Write find_all("[a-z]+"), or call(function, col("text")).',
        "over": "Write group_by(...).aggregate(...).",
        "otherwise": 'Write when(condition, "yes").otherwise("no").',
        "where": "Write when(condition, value).otherwise(other).",
        "rename": 'Write alias("name").',
    }
)

OF_TOPOLOGIES: Final = _rows(
    {
        "read_csv read_json read_parquet readStream read from_pandas DataFrame source addSource": (
            'Read a topic: stream("orders", key={"id": str}, value={"amount": float}).'
        ),
        "KTable kTable": "Write table(...).",
        "start run test execute": (
            "Write Application(topology, bootstrap_servers=...).start(), or `duolog run FILE`; "
            "in tests TopologyDriver(topology)."
        ),
        "addStateStore addProcessor addSink addGlobalStore": (
            "Write stream(...).process(MyProcessor, stores=[...]).to(...)."
        ),
        "sql": "Write duolog.sql(...).",
    }
)

OF_ARGUMENTS: Final = _rows(
    {
        "left_on right_on left_index right_index": (
            'Write on="customer": the columns that match the key of the other side.'
        ),
        "suffixes suffix lsuffix rsuffix": 'Write prefix="customer_" for the columns of the other '
        "side.",
        "inplace": "Use the result of the step: it does not change the stream.",
        "key": 'Write select_key("customer") before this step.',
        "axis": "Remove it: the steps work on records.",
        "windows window": 'Join streams with within="5 minutes"; aggregate with windowed_by(...).',
    }
)


def foreign_hint(name: str, foreign: Mapping[str, str], known: Iterable[str]) -> str:
    """Return a hint for a name that another library uses, that is spelled differently, or mistyped.

    Example:
        >>> foreign_hint("groupBy", {}, ["group_by"]), foreign_hint("filtr", {}, ["filter"])
        ('Write group_by(...).', 'Did you mean "filter"?')
    """
    names = list(known)
    spelled = {_plain(one): one for one in names}
    if alike := spelled.get(_plain(name)):
        return f"Write {alike}(...)."
    rows = {_plain(one): hint for one, hint in foreign.items()}
    if hint := rows.get(_plain(name)):
        return hint
    nearest = get_close_matches(name, names, n=1, cutoff=0.7)
    return f'Did you mean "{nearest[0]}"?' if nearest else ""


def unknown_argument(
    called: str, name: str, value: object, known: Iterable[str]
) -> UnknownArgument:
    """Return the error for a named argument that a method does not accept."""
    owner, _, method = called.rpartition(".")
    called = owner if method == "__init__" else f"{method}(...)"
    if name == "how" and isinstance(value, str) and "join" in called:
        join = _JOINS.get(_plain(value))
        hint = f"Write {join}(...)." if join else "There are join, left_join and outer_join."
    elif name in {"on", "how"}:
        hint = "To join by key write join(table, on=...) or left_join(table, on=...)."
    else:
        names = [one for one in known if one != "self"]
        hint = foreign_hint(name, OF_ARGUMENTS, ()) or _nearest_argument(name, names)
    return UnknownArgument(f'{called} has no argument "{name}"', hint=hint)


def too_many_arguments(called: str, known: Iterable[Parameter]) -> UnknownArgument:
    """Return the error for a call with too many positional arguments."""
    named = [f"{one.name}=..." for one in known if one.kind is Parameter.KEYWORD_ONLY]
    return UnknownArgument(
        f"{called.rpartition('.')[2]}(...) has too many positional arguments",
        hint=f"Name them: {', '.join(named)}." if named else "",
    )


def _nearest_argument(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name, known, n=1)
    return f'Did you mean "{nearest[0]}"?' if nearest else f"It takes {', '.join(known)}."


def _plain(name: str) -> str:
    return name.replace("_", "").lower()

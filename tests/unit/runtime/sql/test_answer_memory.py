"""Functions of answers take memory in proportion to what they make, in a process that may not have more."""

import subprocess
import sys
from typing import Final

ENTRIES: Final = 30_000
_PROGRAM: Final = """
import resource
from duolog.ksql.session import SqlSession, parse
from duolog.runtime.sql.duck.queries import Translator, source_columns
from duolog.runtime.sql.duck.answers import answered
from duolog.runtime.sql.duck.sandbox import connect
from duolog.runtime.sql.duck.tables import DuckTable

session, connection = SqlSession(), connect(threads=1)
list(session.run("CREATE TABLE one (id INT PRIMARY KEY) WITH (kafka_topic='one', value_format='JSON');"))
DuckTable(connection, "ONE", source_columns(session.catalog.sources["ONE"])).add([0], [(1, "one", 0, 0, 0)])
(node,) = parse("SELECT {} AS found FROM one;")
query = Translator(session.catalog, lambda source: source.name).query(node)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30),) * 2)
((found,),) = answered(connection, query)
print(found)
"""


def asked(call: str) -> str:
    program = [sys.executable, "-c", _PROGRAM.replace("{}", call)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_a_large_map_takes_no_more_memory_than_its_entries_need() -> None:
    """Each entry was compared with a copy of all after it: 30,000 took 7 GB, and the process ended."""
    numbers = f"GENERATE_SERIES(1, {ENTRIES})"
    keys = f"TRANSFORM({numbers}, i => CAST(i AS STRING))"

    assert asked(f"ARRAY_LENGTH(MAP_KEYS(AS_MAP({keys}, {numbers})))") == str(ENTRIES)

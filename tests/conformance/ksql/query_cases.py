"""ksqlDB's own query tests, stored outside of this project: `$DUOLOG_QTT`, else `shared/qtt`.

They have another licence: only the names of those that do not pass are copied here.
"""

import os
from pathlib import Path
from typing import Final

from duolog.testing.qtt.cases import Case, read_cases

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = Path(os.environ.get("DUOLOG_QTT") or ROOT.parent / "shared" / "qtt")
PAGE: Final = ROOT / "docs/reference/ksqldb-compatibility.md"
ABSENT: Final = (
    None
    if (FOLDER / "qtt.jsonl").is_file()
    else f"ksqlDB's query tests are not in {FOLDER}: DUOLOG_QTT says where they are"
)
"""The reason why there are no cases to run; None if there are."""


def query_cases() -> list[Case]:
    """Return the cases of queries: records in, records out."""
    return list(read_cases([FOLDER / "qtt.jsonl"]))


def server_cases() -> list[Case]:
    """Return the server cases: rows of pull and push queries, and INSERT VALUES."""
    return list(read_cases([FOLDER / "rqtt.jsonl"]))


def all_cases() -> list[Case]:
    """Return all cases of both kinds."""
    return [*query_cases(), *server_cases()]

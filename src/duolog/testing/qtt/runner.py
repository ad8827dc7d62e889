"""Runs a case and determines its outcome: pass, fail, error, or skip.

Source: ksqlDB's own runner, as described next to the cases.
"""

import re
import time
from dataclasses import dataclass
from typing import Final, Literal

from duolog.core.errors import DuologError, QueryError
from duolog.ksql.errors import SqlError
from duolog.testing.qtt import jar_functions
from duolog.testing.qtt.cases import Case
from duolog.testing.qtt.conditions import Mismatch, skipped_topics
from duolog.testing.qtt.execution import CaseRun
from duolog.testing.qtt.function_names import NAMES
from duolog.testing.qtt.plan_runs import PlanRun, in_memory
from duolog.testing.qtt.rest_run import RestRun, Transport, in_process

Status = Literal["pass", "fail", "error", "skip"]
_UNKNOWN_FUNCTION: Final = re.compile(r"Can't find any functions with the name '(\w+)'")
_OTHER_PARAMETERS: Final = re.compile(r"Function '(\w+)' does not accept parameters \((.*)\)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case, and the reason."""

    case: Case
    status: Status
    reason: str
    ms: int


def run_case(
    case: Case, run_plan: PlanRun = in_memory, transport: Transport = in_process
) -> Outcome:
    """Run a case and return its outcome.

    Args:
        case: the case.
        run_plan: runs the plans of its queries.
        transport: sends its requests, if it is a case of the REST server.
    """
    started = time.monotonic()
    status: Status = "pass"
    reason = ""
    try:
        if case.of_server:
            RestRun(case, _settings(case), run_plan, transport).run()
        elif case.expected_error is None:
            _run(case, run_plan)
            if topics := skipped_topics(case):
                status, reason = (
                    "skip",
                    f"asks for topics within a query, which there are not: {topics[0]}",
                )
        else:
            _ensure_fails(case, run_plan)
    except Mismatch as mismatch:
        status, reason = "fail", str(mismatch)
    except _OfTestJar as missing:
        status, reason = "skip", str(missing)
    except (DuologError, NotImplementedError) as error:
        status, reason = "error", str(error)
    except Exception as error:  # noqa: BLE001 - one case must not end the others
        status, reason = "error", f"{type(error).__name__}: {error}"
    return Outcome(case, status, reason[:2000], round((time.monotonic() - started) * 1000))


def _run(case: Case, run_plan: PlanRun) -> None:
    try:
        CaseRun(case, _settings(case), run_plan).run()
    except SqlError as error:
        _ensure_not_of_test_jar(error)
        raise


def _settings(case: Case) -> dict[str, str]:
    """Return the settings of ksqlDB's own runner, then those of the case."""
    given = {
        "auto.offset.reset": "earliest",
        "ksql.compatibility": "strict",
        "ksql.service.id": "some.ksql.service.id",
    }
    return given | {name: _text(value) for name, value in case.spec.get("properties", {}).items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ensure_fails(case: Case, run_plan: PlanRun) -> None:
    wanted = (case.expected_error or {}).get("message", "")
    run = CaseRun(case, _settings(case), run_plan)
    try:
        run.run()
    except SqlError as error:
        if wanted and wanted not in error.message and wanted not in str(error):
            _ensure_not_of_test_jar(error)
            raise Mismatch(f"expected the error {wanted!r}, got {error.message!r}") from error
        # The whole text is parsed before any statement runs.
        if error.kind != "syntax" and run.done < len(case.statements) - 1:
            raise Mismatch(f"statement {run.done + 1} fails, and only the last one may") from error
        return
    except QueryError as error:
        told = _of_kafka_streams(error)
        if wanted and wanted not in told:
            raise Mismatch(f"expected the error {wanted!r}, got {told!r}") from error
        return
    raise Mismatch(f"expected the error {wanted!r}, and there was none")


def _of_kafka_streams(error: QueryError) -> str:
    """Return the error of a failed query with the prefix that Kafka Streams uses."""
    of_time = "timestamp" in error.detail
    begins = "Fatal user code error in TimestampExtractor callback for record"
    return f"{begins if of_time else 'Exception caught in process'}. {error}"


class _OfTestJar(Exception):
    """A case calls a function of ksqlDB's test jar."""


def _ensure_not_of_test_jar(error: SqlError) -> None:
    unknown = _UNKNOWN_FUNCTION.match(error.message)
    if unknown and unknown[1] not in NAMES:
        raise _OfTestJar(f"calls {unknown[1]}, a function of ksqlDB's test jar") from error
    other = _OTHER_PARAMETERS.match(error.message)
    if other and other[1].upper() in jar_functions.FUNCTIONS:
        call = f"{other[1].upper()} with {other[2]}"
        raise _OfTestJar(f"calls {call}, an overload of ksqlDB's test jar") from error

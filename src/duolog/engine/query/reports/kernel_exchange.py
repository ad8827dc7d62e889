"""The exchange between the kernel of one JVM and this process while a query runs.

    counts              to `progress` and `metrics`
    printed records     to `printing`, as what Python functions print
    records for calls   to `for_each_callbacks`, which confirms each one or reports its failure
    keys                to `key_functions`, which sends the results

Errors of py4j are passed to the caller. Thread rule: any thread; one for each kind of exchange.
"""

import json
from dataclasses import dataclass

from duolog.engine.json_object import Json
from duolog.engine.query.reports.metrics_merge import merge_snapshots
from duolog.engine.query.reports.progress import Counters
from duolog.engine.spark.session import Session


@dataclass(frozen=True, slots=True)
class KernelExchange:
    """The exchange for one application."""

    session: Session
    application_id: str

    def reset(self) -> None:
        """Forget counts and printed records, as the first start in a JVM does."""
        self.session.kernel("Metrics").reset(self.application_id)
        self.session.kernel("Prints").reset(self.application_id)
        # Not for each Spark query: the functions remain those of this process.
        self.session.kernel("KeyFunctions").reset(self.application_id)

    def counted(self) -> Json:
        """Return all counts since `reset`, of this JVM and executors, as `metrics` reads them."""
        metrics = self.session.kernel("Metrics")
        return merge_snapshots(json.loads(str(metrics.snapshot(self.application_id))))

    def counters(self) -> Counters:
        """Return the counts that decide about progress."""
        return Counters.of(self.counted())

    def take_printed(self) -> str:
        """Return the records printed since the last call, as `printing` reads them."""
        return str(self.session.kernel("Prints").take(self.application_id))

    def take_output(self) -> str:
        """Return what Python functions printed since the last call, as `printing` reads it."""
        return str(self.session.kernel("PythonOutput").take())

    def take_calls(self, records_max: int, wait_ms: int) -> str:
        """Wait for records for callbacks; return them as `for_each_callbacks` reads them."""
        calls = self.session.kernel("Calls")
        return str(calls.take(self.application_id, records_max, wait_ms))

    def calls_done(self, number: int) -> None:
        """Confirm the callbacks of the records up to this one."""
        self.session.kernel("Calls").done(self.application_id, number)

    def call_failed(self, number: int, error: str) -> None:
        """Report that the function failed for this record, which is skipped."""
        self.session.kernel("Calls").failed(self.application_id, number, error)

    def take_keys(self, keys_max: int, wait_ms: int) -> str:
        """Wait for keys that need a result; return them as `key_functions` reads them."""
        asked = self.session.kernel("KeyFunctions")
        return str(asked.take(self.application_id, keys_max, wait_ms))

    def answer_keys(self, answers: str) -> None:
        """Pass the results of functions of keys to the kernel."""
        self.session.kernel("KeyFunctions").tell(self.application_id, answers)

"""What works for a query in Python while Spark runs it: a thread that prints, one that calls functions, one that chooses partitions.

Thread rule: started and closed by the query's own; `failure` and `is_calling` by any.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from duolog.engine.errors import QueryFailed
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.query.for_each_callbacks import Callback, CallbackRunner
from duolog.engine.query.key_functions import Answerer
from duolog.engine.query.launch import Launcher
from duolog.engine.query.printing import Printer
from duolog.plan.expressions.key_functions import KeyFunction


@dataclass(slots=True)
class CallbackThreads:
    """Those of one query; it has only the ones that it needs."""

    printer: Printer | None = None
    caller: CallbackRunner | None = None
    answerer: Answerer | None = None

    def start(
        self,
        launcher: Callable[[], Launcher],
        calls: Mapping[str, Callback],
        key_functions: Mapping[str, KeyFunction],
        stop: Callable[[], None],
    ) -> None:
        """Start those that are needed.

        `launcher` gives the one that there is then: another JVM has another. `stop` ends the Spark query, as `CallbackRunner` wants it.
        """
        of = launcher()
        if of.prints or of.calls_python:
            self.printer = Printer(launcher, of.application_id)
            self.printer.start()
        if calls:
            passes_over = of.config.errors.processing == "log_and_continue"
            self.caller = CallbackRunner(
                calls, launcher, stop, of.application_id, passes_over=passes_over
            )
            self.caller.start()
        if key_functions and is_one_jvm(of.config.master):
            self.answerer = Answerer(key_functions, launcher, of.application_id)
            self.answerer.start()

    @property
    def failure(self) -> QueryFailed | None:
        """Why the query is to end: a function that it calls failed."""
        return self.caller.failure if self.caller is not None else None

    @property
    def is_calling(self) -> bool:
        """Whether it is a function of the query that asks."""
        return self.caller is not None and self.caller.is_calling

    def close(self) -> None:
        one: CallbackRunner | Answerer | Printer | None
        for one in (self.caller, self.answerer, self.printer):
            if one is not None:
                one.close()

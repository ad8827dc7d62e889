"""The Python threads of a query: one prints, one calls functions of `for_each`, one calls functions that choose partitions.

Thread rule: the query's own thread starts and closes them; any thread may read `failure` and
`is_calling`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from duolog.engine.errors import QueryFailed
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.query.for_each_callbacks import Callback, CallbackRunner
from duolog.engine.query.key_functions import KeyFunctionRunner
from duolog.engine.query.launch import Launcher
from duolog.engine.query.printing import Printer
from duolog.plan.expressions.key_functions import KeyFunction


@dataclass(slots=True)
class CallbackThreads:
    """The threads of one query; only those that it needs are started."""

    printer: Printer | None = None
    caller: CallbackRunner | None = None
    answerer: KeyFunctionRunner | None = None

    def start(
        self,
        launcher: Callable[[], Launcher],
        calls: Mapping[str, Callback],
        key_functions: Mapping[str, KeyFunction],
        stop: Callable[[], None],
    ) -> None:
        """Start those that are needed.

        `launcher` returns the current one: each JVM has its own. `stop` ends the Spark query for
        `CallbackRunner`.
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
            self.answerer = KeyFunctionRunner(key_functions, launcher, of.application_id)
            self.answerer.start()

    @property
    def failure(self) -> QueryFailed | None:
        """The failure of a function that must end the query, or None."""
        return self.caller.failure if self.caller is not None else None

    @property
    def is_calling(self) -> bool:
        """True if the caller is a function of the query."""
        return self.caller is not None and self.caller.is_calling

    def close(self) -> None:
        one: CallbackRunner | KeyFunctionRunner | Printer | None
        for one in (self.caller, self.answerer, self.printer):
            if one is not None:
                one.close()

"""The Python threads of a query, which run users' functions and print.

    printer    prints records and the output of Python functions
    caller     calls the functions of `for_each`
    answerer   calls the functions that choose partitions

Thread rule: the query's own thread starts and closes them; any thread may read `failure` and
`is_calling`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from duolog.engine.errors import QueryFailed
from duolog.engine.jvm.masters import is_one_jvm
from duolog.engine.query.callbacks.for_each_callbacks import CallbackRunner
from duolog.engine.query.callbacks.key_functions import KeyFunctionRunner
from duolog.engine.query.callbacks.printing import Printer
from duolog.engine.query.callbacks.user_functions import UserFunctions
from duolog.engine.query.launch.launcher import Launcher
from duolog.engine.query.launch.spec_topics import calls_python, prints_records
from duolog.engine.query.reports.kernel_exchange import KernelExchange


@dataclass(slots=True)
class CallbackThreads:
    """The threads of one query; only those that it needs are started."""

    functions: UserFunctions
    printer: Printer | None = None
    caller: CallbackRunner | None = None
    answerer: KeyFunctionRunner | None = None

    def start(self, launcher: Callable[[], Launcher], stop: Callable[[], None]) -> None:
        """Start those that are needed.

        `launcher` returns the current one: each JVM has its own, with an exchange. `stop` ends the
        Spark query for `CallbackRunner`.
        """
        of, functions = launcher(), self.functions
        records, output = prints_records(of.spec), calls_python(of.spec)

        def exchange() -> KernelExchange:
            return launcher().exchange

        if records or output:
            self.printer = Printer(exchange, of.application_id, records=records, output=output)
            self.printer.start()
        if functions.calls:
            passes_over = of.config.errors.processing == "log_and_continue"
            self.caller = CallbackRunner(
                functions.calls, exchange, stop, of.application_id, passes_over=passes_over
            )
            self.caller.start()
        if functions.key_functions and is_one_jvm(of.config.master):
            self.answerer = KeyFunctionRunner(functions.key_functions, exchange, of.application_id)
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

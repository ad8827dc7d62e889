"""A callable function: with the values of one record, with those of many, or many calls at a time.

    values    price(3, "SFO")                 for each record
    arrow     price(Array[3, 5], Array[…])    for many records: returns an array of as many results
    lookups   await price(3, "SFO")           many concurrent calls, with retries

An error names the function and its line, and belongs to one record: if a function of many records
fails, it is called with halves of them until the record is found.
"""

import asyncio
import json
import weakref
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal as PythonDecimal

from duolog.core.errors import DuologError
from duolog.core.exception_text import describe_exception
from duolog.functions import values, vectors
from duolog.functions.places import place_in
from duolog.functions.threads import Threads
from duolog.plan.awaiting import is_coroutine
from duolog.plan.expressions.python_functions import Gathered, Lookups, PythonFunction, code_of
from duolog.plan.sql.user_functions import FunctionFailed, Routine
from duolog.schemas.classes.columns import instance_maker


class CallError(Exception):
    """A function failed for a record; the message has the function, the line and the reason."""


class NullFor(CallError):
    """An SQL function failed for a record. Its result is null, and the message is logged."""


Outcome = object
"""The result of a function in row form, or a `CallError`."""
Arguments = list[object]
"""The arguments of one call."""


class Called:
    """A function that converts its arguments and checks its results. Threads: one at a time."""

    def __init__(self, function: PythonFunction) -> None:
        self._function = function
        self._takes = function.takes
        parameters = [of for of in function.parameters if of is not None]
        assert len(parameters) == len(function.parameters), (
            f"{function} has parameters of unknown types"
        )
        self._names = [f"a{number}" for number in range(len(parameters))]
        self._readers = [
            (number, read)
            for number, of in enumerate(parameters)
            if (read := values.from_json(of)) is not None
        ]
        self._check = values.plain(function.result)
        self._text = values.text(function.result)
        exact = any(values.has_decimal(of) for of in parameters)
        self._decoder = json.JSONDecoder(parse_float=PythonDecimal) if exact else json.JSONDecoder()
        self._callable = function.function
        self._is_null = False
        if isinstance(routine := function.function, Routine) and routine.is_null_where_it_fails:
            self._is_null = True
            self._callable = lambda *values: routine.called_with(values)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: Threads | None = None
        self._at_once = asyncio.Semaphore()

    def lines(self, rows: bytes, done: Callable[[int], None]) -> bytes:
        """Return a line for each of `rows`, a JSON array of objects.

        A line is `+` and `{"r":…}`, `-` and the error, or `~` and the reason for a null. `done`
        receives the number of finished rows from time to time.
        """
        if self._takes != "values" and (lines := self._columns(rows)) is not None:
            return lines
        return self.encoded(self.outcomes(self.given(rows), done))

    def _columns(self, rows: bytes) -> bytes | None:
        """Return the lines of many rows, by column; None if parameters gather several columns."""
        if self._function.shape:
            return None
        decoded = self._decoder.decode(rows.decode())
        columns = [[row[name] for row in decoded] for name in self._names]
        for number, read in self._readers:
            columns[number] = [None if one is None else read(one) for one in columns[number]]
        try:
            found = vectors.called(self._function, columns)
            lines = vectors.lines(self._function, found, len(decoded))
            if lines is None:
                results = vectors.results(found, len(decoded))
                lines = self.encoded([self._checked(result) for result in results])
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
            return self.encoded(self._by_halves(self.given(rows), error))
        return lines

    def given(self, rows: bytes) -> list[Arguments]:
        """Return the arguments of each of `rows`, a JSON array of objects."""
        return [self._arguments(row) for row in self._decoder.decode(rows.decode())]

    def encoded(self, outcomes: list[Outcome]) -> bytes:
        """Return a line for each outcome."""
        lines: list[str] = []
        text = self._text
        for outcome in outcomes:
            if isinstance(outcome, CallError):
                kind = "~" if isinstance(outcome, NullFor) else "-"
                lines.append(kind + " ".join(str(outcome).split()))
            else:
                lines.append('+{"r":null}' if outcome is None else f'+{{"r":{text(outcome)}}}')
        lines.append("")
        return "\n".join(lines).encode(errors="replace")

    def one(self, given: Sequence[object]) -> object:
        """Return the function's result for values of a row.

        Raises:
            CallError: it failed.
        """
        (outcome,) = self.outcomes([self._shaped(list(given))], lambda _count: None)
        if isinstance(outcome, NullFor):
            return None
        if isinstance(outcome, CallError):
            raise outcome
        return outcome

    def outcomes(self, rows: list[Arguments], done: Callable[[int], None]) -> list[Outcome]:
        """Return the function's outcome for each row of arguments."""
        if self._function.lookups is not None:
            return self._looked_up(rows, done)
        if self._takes != "values":
            return self._of_many(rows)
        found: list[Outcome] = []
        function, check = self._callable, self._check
        for count, row in enumerate(rows, start=1):
            try:
                found.append(check(function(*row)))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a user's function may raise anything
                found.append(self._failed(error))
            done(count)
        return found

    def _arguments(self, row: dict[str, object]) -> Arguments:
        found = [row[name] for name in self._names]
        for number, read in self._readers:
            if found[number] is not None:
                found[number] = read(found[number])
        return self._shaped(found)

    def _shaped(self, given: Arguments) -> Arguments:
        """Return the arguments grouped by parameters."""
        if not self._function.shape:
            return given
        rest = iter(given)
        return [_gathered(part, rest) for part in self._function.shape]

    def _of_many(self, rows: list[Arguments]) -> list[Outcome]:
        if not rows:
            return []
        try:
            results = vectors.call(self._function, rows)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
            return self._by_halves(rows, error)
        return [self._checked(result) for result in results]

    def _by_halves(self, rows: list[Arguments], error: BaseException) -> list[Outcome]:
        """Find the rows for which the function fails, after it failed for all of these together."""
        if len(rows) == 1:
            return [self._failed(error)]
        half = len(rows) // 2
        return self._of_many(rows[:half]) + self._of_many(rows[half:])

    def _checked(self, result: object) -> Outcome:
        try:
            return self._check(result)
        except Exception as error:  # noqa: BLE001 - of a user's object
            return self._failed(error)

    @property
    def looks_up(self) -> bool:
        """True if its calls run concurrently."""
        return self._function.lookups is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of its look-ups."""
        how = self._function.lookups
        assert how is not None
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._threads = Threads(self._loop)
            self._at_once = asyncio.Semaphore(how.limit)
            weakref.finalize(self, self._loop.close)
        return self._loop

    @property
    def is_worn(self) -> bool:
        """True if the maximum number of its threads hang: the process should then be replaced."""
        how = self._function.lookups
        return how is not None and self._threads is not None and self._threads.hung >= how.limit

    def _looked_up(self, rows: list[Arguments], done: Callable[[int], None]) -> list[Outcome]:
        return self.loop.run_until_complete(self.all(rows, done))

    async def all(self, rows: list[Arguments], done: Callable[[int], None]) -> list[Outcome]:
        """Return the outcome for each row; other requests count towards the limit of calls."""
        how, at_once = self._function.lookups, self._at_once
        assert how is not None
        count = 0

        async def one(row: Arguments) -> Outcome:
            nonlocal count
            async with at_once:
                outcome = await self._tried(row, how)
            count += 1
            done(count)
            return outcome

        return list(await asyncio.gather(*(one(row) for row in rows)))

    async def _tried(self, row: Arguments, how: Lookups) -> Outcome:
        pause_s = how.pause_ms / 1000
        for tries_left in range(how.retries, -1, -1):
            try:
                async with asyncio.timeout(how.timeout_ms / 1000) as limit:
                    found = await self._awaited(row)
                return self._check(found)
            except TimeoutError as error:
                failed = self._failed(error)
                if limit.expired():
                    # The cancelled call knows the line at which it waited.
                    place = self._described(error.__cause__ or error, elsewhere=False)
                    failed = CallError(f"{place}: no answer within {how.timeout_ms} ms")
            except values.WrongType as error:
                return self._failed(error)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
                failed = self._failed(error)
            if tries_left:
                await asyncio.sleep(pause_s)
                pause_s *= 2
        return CallError(f"{failed}, in the last of {how.retries + 1} tries")

    async def _awaited(self, row: Arguments) -> object:
        if is_coroutine(self._function.function):
            return await self._function.function(*row)
        assert self._threads is not None
        return await self._threads.call(self._function.function, row)

    def _failed(self, error: BaseException) -> CallError:
        if isinstance(error, FunctionFailed):
            # The error has the function and line already.
            return NullFor(str(error)) if self._is_null else CallError(str(error))
        what = describe_exception(error)
        if isinstance(error, DuologError):
            what = error.one_line()
        if isinstance(error, values.WrongType):
            what = f"returned a value of another type: {error}"
        return CallError(f"{self._described(error)}: {what}")

    def _described(self, error: BaseException, *, elsewhere: bool = True) -> str:
        """Return the function, and the line in the user's code where it failed."""
        own = code_of(self._function.function)
        place = place_in(error, own and own.co_filename, elsewhere=elsewhere)
        place = place or self._function.place
        return f"{self._function.called} ({place})" if place else self._function.called


def _gathered(part: Gathered | None, rest: Iterator[object]) -> object:
    if part is None or not part.names:
        value = next(rest)
        if part is None or part.made is None or value is None:
            return value
        assert isinstance(value, dict), value
        return instance_maker(part.made)(value)
    found = {name: next(rest) for name in part.names}
    return found if part.made is None else instance_maker(part.made)(found)

"""The base of what users hold while they write a topology: streams, tables, groups, columns, the topology itself.

A handle explains attributes that it does not have, and its errors have short tracebacks.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from duolog.dsl.handles.foreign_names import OF_GROUPS, UnknownMethod, foreign_hint
from duolog.dsl.handles.short_tracebacks import short_traceback, short_tracebacks
from duolog.plan.errors import InvalidPlan


class Handle:
    """A base whose missing attributes are explained: names of other libraries, columns, misspelled names."""

    __slots__ = ()

    _foreign: ClassVar[Mapping[str, str]] = {}
    """What to write instead, by the name of another library."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        short_tracebacks(cls)

    def _called(self) -> str:
        """Return what an error calls this."""
        return f"a {type(self).__name__.lower()}"

    def _columns(self) -> Collection[str]:
        """Return the names of the columns that a user may look for here."""
        return ()

    def _hint(self, _name: str) -> str:
        """Return a hint that only this class knows."""
        return ""

    if not TYPE_CHECKING:  # A type checker is to report what is missing.

        @short_traceback
        def __getattr__(self, name: str) -> Any:
            # Python and notebooks ask for names with an underscore; a property that fails is no missing name.
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            if name in self._columns():
                raise UnknownMethod(
                    f'{self._called()} has no attribute "{name}", which is the name of a column',
                    hint=f'Write col("{name}"), as in filter(col("{name}").is_not_null()).',
                )
            known = [one for one in dir(type(self)) if not one.startswith("_")]
            hint = self._hint(name) or foreign_hint(name, self._foreign, known)
            raise UnknownMethod(f'{self._called()} has no "{name}"', hint=hint)


class Groups(Handle):
    """The base of records in groups, `Grouped` and `CoGrouped`."""

    _foreign = OF_GROUPS
    __iter__ = None  # Because [...] alone would make it a sequence.

    def __getitem__(self, _column: object) -> NoReturn:
        """Refuse what pandas would take."""
        raise InvalidPlan(
            f"{self._called()} has no [...]",
            hint='Write aggregate(total=sum_("amount")), which names the columns.',
        )

    def _called(self) -> str:
        return "a group"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

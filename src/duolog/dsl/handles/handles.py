"""The base class of the DSL's objects: topologies, streams, tables, groups and columns.

A handle explains missing attributes, and its errors have short tracebacks.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from duolog.dsl.handles.foreign_names import OF_GROUPS, UnknownMethod, foreign_hint
from duolog.dsl.handles.short_tracebacks import short_traceback, short_tracebacks
from duolog.plan.errors import InvalidPlan


class Handle:
    """A base class that explains missing attributes: foreign names, columns, misspelled names."""

    __slots__ = ()

    _foreign: ClassVar[Mapping[str, str]] = {}
    """The hint for each name of another library."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        short_tracebacks(cls)

    def _called(self) -> str:
        """Return the object's name in errors."""
        return f"a {type(self).__name__.lower()}"

    def _columns(self) -> Collection[str]:
        """Return the column names that a user may look up as attributes."""
        return ()

    def _hint(self, _name: str) -> str:
        """Return a hint that is specific to the class."""
        return ""

    if not TYPE_CHECKING:  # Type checkers report missing attributes themselves.

        @short_traceback
        def __getattr__(self, name: str) -> Any:
            # Python and notebooks ask for names with an underscore. An attribute that exists is a
            # property that failed.
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            if name in self._columns():
                raise UnknownMethod(
                    f'{self._called()} has no attribute "{name}", but a column of this name',
                    hint=f'Write col("{name}"), as in filter(col("{name}").is_not_null()).',
                )
            known = [one for one in dir(type(self)) if not one.startswith("_")]
            hint = self._hint(name) or foreign_hint(name, self._foreign, known)
            raise UnknownMethod(f'{self._called()} has no "{name}"', hint=hint)


class Groups(Handle):
    """The base of grouped records, `Grouped` and `CoGrouped`."""

    _foreign = OF_GROUPS
    __iter__ = None  # [...] alone would make it iterable.

    def __getitem__(self, _column: object) -> NoReturn:
        """Refuse pandas' syntax."""
        raise InvalidPlan(
            f"{self._called()} has no [...]",
            hint='Write aggregate(total=sum_("amount")), which names the columns.',
        )

    def _called(self) -> str:
        return "a group"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

"""The plan of an upgrade: the change of each store, where topics continue, and what is read again.

    keep       allowed only if every store that would miss records can be kept, or is new together
               with its topics
    from-now   the other stores start empty, with the records from now on
    rebuild    the other stores are rebuilt from the topics while the old topology runs, which then
               stops

The new topology starts after the last commit of the old one, which has written the results up to
there. The new one writes those of later records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from duolog.core.counts import counted
from duolog.engine.checkpoint.checkpoint_files import last_commit
from duolog.engine.errors import StoresNotKept
from duolog.engine.json_object import Json
from duolog.engine.stores import operator_of
from duolog.engine.upgrades.comparison import Comparison, StoreChange

Positions = Mapping[str, Mapping[int, int]]
How = Literal["keep", "rebuild", "from-now"]


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The findings for an upgrade of an application."""

    application_id: str
    comparison: Comparison | None
    """None if a start needs no upgrade: there is no checkpoint yet, or it has this shape."""
    begun: bool = True
    """True if there is a checkpoint."""
    behind: Mapping[str, int] | None = None
    """The number of missed records of each topic; None if no broker answers."""
    directory: Path | None = None
    """The expected directory of its checkpoint."""

    @property
    def keeps_all(self) -> bool:
        """True if no state is lost."""
        return self.comparison is None or not self.comparison.begins_empty

    def ensure_allowed(self, how: How) -> None:
        """Raise if an upgrade of this kind would lose state.

        Raises:
            StoresNotKept: a store that must be kept cannot be kept.
        """
        if how == "keep" and not self.keeps_all:
            assert self.comparison is not None
            lost = self.comparison.begins_empty
            raise StoresNotKept(
                f'an upgrade of application "{self.application_id}" cannot keep '
                + ", ".join(f'store "{change.store}"' for change in lost),
                query_id=self.application_id,
                detail=" ".join(change.why for change in lost),
                hint="--upgrade rebuild reads their topics again while the old application runs; "
                "--upgrade from-now starts them empty, with the records from now on; "
                "--explain-upgrade shows the effect on each store.",
            )

    def stores(self) -> list[tuple[str, str, str]]:
        """Return each store, its change, and the reason."""
        found = self.comparison
        if found is None:
            return []
        return [(of.store, _BECOMES[_kind(of, found)], of.why) for of in found.stores]

    def facts(self) -> list[tuple[str, str]]:
        """Return the effects of replacing a query, by name."""
        if self.comparison is None:
            return [("State", "all is kept" if self.begun else "there is none yet")]
        if self.keeps_all:
            return [("State", "all of it is kept"), ("Reads again", "nothing")]
        names = ", ".join(change.store for change in self.comparison.begins_empty)
        again = self._missed("").strip() or "the topics of what is rebuilt"
        return [("State", f"is rebuilt: {names}"), ("Reads again", again)]

    def __str__(self) -> str:
        """Return the upgrade as text for people."""
        if self.comparison is None:
            return f'application "{self.application_id}": nothing to upgrade, ' + (
                "its checkpoint fits."
                if self.begun
                else f"it has no checkpoint yet at {self.directory}."
            )
        return "\n".join([f'application "{self.application_id}"', *self._lines(self.comparison)])

    def _lines(self, found: Comparison) -> Iterator[str]:
        yield "stores:"
        rows = self.stores()
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(2)]
        for store, becomes, why in rows:
            yield f"  {store:{widths[0]}}  {becomes:{widths[1]}}  {why}".rstrip()
        yield "topics:"
        for topic in found.new_topics:
            known = topic in found.old_topics
            where = "continues after the last commit" if known else "is read from its start"
            yield f"  {topic} {where}"
        for topic in found.old_topics:
            if topic not in found.new_topics:
                yield f"  {topic} is no longer read"
        yield "upgrade:"
        if self.keeps_all:
            yield "  keep      all state is kept; no record is read again"
        else:
            names = ", ".join(change.store for change in found.begins_empty)
            yield f"  keep      is refused: it cannot keep {names}"
            reads = self._missed("reads again") or "reads their topics again"
            yield f"  rebuild   {reads}, while the old application runs"
            missed = self._missed(", without")
            yield f"  from-now  no record is read again; starting empty: {names}{missed}"

    def _missed(self, verb: str) -> str:
        if self.behind is None:
            return ""
        missed = (f"{counted(n, 'record')} of {topic}" for topic, n in self.behind.items())
        return f"{verb} {', '.join(missed)}"


_BECOMES: Final = {
    "keeps": "keeps its state",
    "changed": "changed: starts empty, or is rebuilt",
    "missed": "new: starts empty, or is rebuilt",
    "new": "new: reads its topics from their start",
    "dropped": "dropped",
}


def _kind(change: StoreChange, found: Comparison) -> str:
    if change.becomes == "changed":
        return "changed"
    return "missed" if change in found.begins_empty else change.becomes


def initial_stores(
    subtopologies: Mapping[str, int], spark_dir: Path, kept: Mapping[str, str]
) -> list[Json]:
    """Return the initial contents of the new topology's stores, as the kernel reads them.

    A store that has committed nothing yet starts empty, as it would have.

    Args:
        subtopologies: the new sub-topology of each store.
        spark_dir: the Spark checkpoint that has them.
        kept: each of them, with its name there.
    """
    commit = last_commit(spark_dir)
    if commit is None:
        return []
    found = {store: operator_of(spark_dir, old) for store, old in kept.items()}
    return [
        {
            "checkpoint": str(spark_dir),
            "operator": operator,
            "commit": commit,
            "store": kept[store],
            "becomes": store,
            "subtopology": subtopologies[store],
        }
        for store, operator in found.items()
        if operator is not None
    ]

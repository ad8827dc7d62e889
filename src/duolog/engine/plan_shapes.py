"""The shape of a plan: its layouts in pinned texts, and in the texts that it runs with.

A checkpoint is written in pinned texts (`pinned_texts`), and compared with them. Between b506ee0 and ADR 0099 Duolog wrote the
texts that it ran with: such a checkpoint fits, too, and its next start rewrites it in pinned texts.
"""

from duolog.engine.lower import lower
from duolog.engine.pinned_texts import pinned_texts
from duolog.engine.store_layouts import AS_RUN, Json, shape_of
from duolog.engine.store_names import Names
from duolog.plan.levels import Levels


def pinned_spec(levels: Levels, application_id: str) -> Json:
    """Return the spec of a plan in pinned texts: to be compared, never to be run."""
    with pinned_texts():
        return lower(levels, application_id, cache_bytes_max=0)


def shape_of_plan(levels: Levels, spec: Json, pinned: Json | None = None) -> Json:
    """Return the shape that a start of a plan pins.

    Args:
        levels: the plan.
        spec: its spec, as it runs.
        pinned: its spec in pinned texts, if the caller has it.
    """
    names = Names.of(levels)
    shape = shape_of(pinned or pinned_spec(levels, spec["application_id"]), names)
    as_run = shape_of(spec, names)["stores"]
    return shape if as_run == shape["stores"] else shape | {AS_RUN: as_run}

"""The shape of a plan: its layouts in pinned texts, and in the texts of earlier versions.

A checkpoint is written in pinned texts (`pinned_texts`), and compared with them. Between b506ee0
and ADR 0099 Duolog wrote the texts that it ran with: such a checkpoint fits, too, and its next
start rewrites it in pinned texts.
"""

from duolog.engine.json_object import Json
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.spark_sql.pinned_texts import pinned_texts, unpinned_texts
from duolog.engine.lowering.stores.store_layouts import UNPINNED, shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.plan.cutting.levels import Levels


def pinned_spec(levels: Levels, application_id: str) -> Json:
    """Return the spec of a plan in pinned texts: to be compared, never to be run."""
    with pinned_texts():
        return lower(levels, application_id, cache_bytes_max=0)


def unpinned_spec(levels: Levels, application_id: str) -> Json:
    """Return the spec of a plan in the texts before pinned texts: to be compared, never run."""
    with unpinned_texts():
        return lower(levels, application_id, cache_bytes_max=0)


def shape_of_plan(levels: Levels, application_id: str) -> Json:
    """Return the shape that a start of a plan pins."""
    names = Names.of(levels)
    shape = shape_of(pinned_spec(levels, application_id), names)
    unpinned = shape_of(unpinned_spec(levels, application_id), names)["stores"]
    return shape if unpinned == shape["stores"] else shape | {UNPINNED: unpinned}

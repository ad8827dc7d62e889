from duolog import Topology
from duolog.engine.json_object import Json
from duolog.engine.lowering.lower import lower
from duolog.engine.lowering.stores.store_layouts import shape_of
from duolog.engine.lowering.stores.store_names import Names
from duolog.plan.cutting.levels import find_levels


def shape_of_topology(topology: Topology, tasks: int = 2) -> Json:
    """Return the shape that a start of `topology` would pin."""
    levels = find_levels(topology.build(), tasks)
    return shape_of(lower(levels, topology.name, cache_bytes_max=0), Names.of(levels))

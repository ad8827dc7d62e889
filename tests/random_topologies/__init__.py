"""Random topologies over all operators. Start reading in `generator`."""

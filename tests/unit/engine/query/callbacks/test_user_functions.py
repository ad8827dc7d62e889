"""The functions of users that a plan calls."""

from duolog import Topology
from duolog.engine.query.callbacks.user_functions import UserFunctions


def test_functions_are_found_by_the_names_of_their_nodes() -> None:
    topology = Topology("flights")
    topology.stream("flights", value="delay BIGINT").for_each(print)
    plan = topology.build()

    functions = UserFunctions.of(plan)

    assert [call.function for call in functions.calls.values()] == [print]
    assert set(functions.calls) == {node.name for node in plan.calls}
    assert functions.key_functions == {}

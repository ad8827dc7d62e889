"""The two assignors distribute partitions among members."""

from uuid import UUID

from duolog.coordinator.consumer_groups.assignors import ASSIGNORS, MemberSpec
from duolog.coordinator.consumer_groups.records import Assignment

T, U = UUID(int=1), UUID(int=2)
uniform, ranges = ASSIGNORS["uniform"], ASSIGNORS["range"]


def spec(
    *topics: UUID, instance_id: str | None = None, previous: Assignment | None = None
) -> MemberSpec:
    return MemberSpec(frozenset(topics), instance_id, previous or {})


def sizes(found: dict[str, Assignment]) -> dict[str, int]:
    return {member_id: sum(map(len, topics.values())) for member_id, topics in found.items()}


def test_range_gives_the_same_partitions_of_each_topic_to_a_member() -> None:
    found = ranges({"a": spec(T, U), "b": spec(T, U)}, {T: 3, U: 3})

    first, second = frozenset((0, 1)), frozenset((2,))
    assert found == {"a": {T: first, U: first}, "b": {T: second, U: second}}


def test_range_assigns_nothing_to_surplus_members() -> None:
    assert ranges({"a": spec(T), "b": spec(T)}, {T: 1}) == {"a": {T: frozenset((0,))}, "b": {}}


def test_range_divides_a_topic_among_its_subscribers() -> None:
    found = ranges({"a": spec(T), "b": spec(T, U), "c": spec(U)}, {T: 2, U: 3})

    assert found == {
        "a": {T: frozenset((0,))},
        "b": {T: frozenset((1,)), U: frozenset((0, 1))},
        "c": {U: frozenset((2,))},
    }


def test_range_orders_static_members_by_instance_before_all_others() -> None:
    members = {"a": spec(T), "x": spec(T, instance_id="2"), "y": spec(T, instance_id="1")}

    found = ranges(members, {T: 3})

    assert [sorted(found[m][T]) for m in ("y", "x", "a")] == [[0], [1], [2]]


def test_uniform_gives_everybody_the_same_or_one_more() -> None:
    found = uniform({name: spec(T, U) for name in "abc"}, {T: 4, U: 4})

    assert sorted(sizes(found).values()) == [2, 3, 3]


def test_uniform_moves_only_the_partitions_a_new_member_needs() -> None:
    six = {"a": frozenset((0, 1, 2)), "b": frozenset((3, 4, 5))}
    members = {name: spec(T, previous={T: owned}) for name, owned in six.items()}

    found = uniform({**members, "c": spec(T)}, {T: 6})

    assert sizes(found) == {"a": 2, "b": 2, "c": 2}
    assert all(found[name][T] < six[name] for name in six)


def test_uniform_leaves_the_extra_partition_where_it_is() -> None:
    members = {
        "a": spec(T, previous={T: frozenset((0,))}),
        "b": spec(T, previous={T: frozenset((1, 2))}),
    }

    found = uniform(members, {T: 3})

    assert found == {name: dict(members[name].previous) for name in members}


def test_uniform_redistributes_the_partitions_of_a_leaving_member() -> None:
    members = {"a": spec(T, previous={T: frozenset((0, 1))}), "c": spec(T)}

    found = uniform(members, {T: 4})

    assert found == {"a": {T: frozenset((0, 1))}, "c": {T: frozenset((2, 3))}}


def test_uniform_drops_partitions_and_topics_that_are_gone() -> None:
    members = {"a": spec(T, previous={T: frozenset((0, 7)), U: frozenset((0,))})}

    assert uniform(members, {T: 1}) == {"a": {T: frozenset((0,))}}


def test_uniform_gives_a_partition_that_two_were_to_have_to_one() -> None:
    both = {T: frozenset((0,))}

    found = uniform({"a": spec(T, previous=both), "b": spec(T, previous=both)}, {T: 1})

    assert found == {"a": both, "b": {}}


def test_uniform_makes_up_for_members_that_read_less() -> None:
    found = uniform({"a": spec(T, U), "b": spec(T)}, {T: 2, U: 2})

    assert found == {"a": {U: frozenset((0, 1))}, "b": {T: frozenset((0, 1))}}


def test_uniform_levels_along_a_chain_of_topics() -> None:
    v = UUID(int=3)
    members = {
        "a": spec(T, previous={T: frozenset(range(6))}),
        "b": spec(T, U),
        "c": spec(U, v),
        "d": spec(v),
    }

    found = uniform(members, {T: 6, U: 1, v: 1})

    assert sizes(found) == {"a": 3, "b": 3, "c": 1, "d": 1}


def test_without_topics_no_member_gets_partitions() -> None:
    for assign in ASSIGNORS.values():
        assert assign({"a": spec()}, {}) == {"a": {}}
        assert assign({}, {}) == {}

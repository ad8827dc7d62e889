"""Invariants of every assignment, for any subscriptions."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from duolog.coordinator.consumer_groups.assignors import ASSIGNORS, MemberSpec
from duolog.coordinator.consumer_groups.records import Assignment

TOPICS = [UUID(int=number) for number in range(1, 6)]
Members = dict[str, MemberSpec]
Counts = dict[UUID, int]

uniform, ranges = ASSIGNORS["uniform"], ASSIGNORS["range"]
counts = st.fixed_dictionaries({topic: st.integers(1, 7) for topic in TOPICS})
previous = st.dictionaries(
    st.sampled_from(TOPICS), st.frozensets(st.integers(0, 9), min_size=1), max_size=5
)
specs = st.builds(MemberSpec, st.frozensets(st.sampled_from(TOPICS)), st.none(), previous)
groups = st.dictionaries(st.sampled_from("abcdefgh"), specs, max_size=8)


def owners(found: dict[str, Assignment]) -> list[tuple[UUID, int, str]]:
    return [
        (topic_id, index, member_id)
        for member_id, topics in found.items()
        for topic_id, indexes in topics.items()
        for index in indexes
    ]


def load(found: dict[str, Assignment], member_id: str) -> int:
    return sum(len(indexes) for indexes in found[member_id].values())


@given(groups, counts, st.sampled_from(["uniform", "range"]))
def test_every_partition_has_one_owner_that_subscribes_to_it(
    members: Members, partitions: Counts, name: str
) -> None:
    found = ASSIGNORS[name](members, partitions)

    owned = owners(found)
    read = {topic for spec in members.values() for topic in spec.topics}
    wanted = {(topic, index) for topic in read for index in range(partitions[topic])}
    assert sorted((topic, index) for topic, index, _ in owned) == sorted(wanted)
    assert all(topic in members[member_id].topics for topic, _, member_id in owned)
    assert found.keys() == members.keys()


@given(groups, counts)
def test_the_order_of_members_does_not_matter(members: Members, partitions: Counts) -> None:
    names = sorted(members, reverse=True)
    shuffled = {name: members[name] for name in names}

    for assign in ASSIGNORS.values():
        assert assign(members, partitions) == assign(shuffled, partitions)


@given(groups, counts)
def test_uniform_can_not_be_more_even_by_one_move(members: Members, partitions: Counts) -> None:
    found = uniform(members, partitions)

    for topic, _, owner in owners(found):
        readers = [name for name, spec in members.items() if topic in spec.topics]
        assert load(found, owner) - min(load(found, name) for name in readers) < 2


@given(groups, counts)
def test_uniform_leaves_its_own_result_as_it_is(members: Members, partitions: Counts) -> None:
    found = uniform(members, partitions)

    again = {
        name: MemberSpec(spec.topics, spec.instance_id, found[name])
        for name, spec in members.items()
    }

    assert uniform(again, partitions) == found


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 4))
def test_uniform_moves_only_what_new_members_need(total: int, old: int, new: int) -> None:
    topic = TOPICS[0]
    members = {f"old{n}": MemberSpec(frozenset((topic,))) for n in range(old)}
    before = uniform(members, {topic: total})
    kept = {name: MemberSpec(frozenset((topic,)), None, before[name]) for name in members}
    fresh = {f"new{n}": MemberSpec(frozenset((topic,))) for n in range(new)}

    found = uniform({**kept, **fresh}, {topic: total})

    moved = sum(load(found, name) for name in fresh)
    lost = sum(
        len(before[name].get(topic, frozenset()) - found[name].get(topic, frozenset()))
        for name in members
    )
    assert lost == moved

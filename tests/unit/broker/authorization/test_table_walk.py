"""Walk the table: each right is denied alone, and real frames are answered as the row says."""

from typing import Any

import pytest

from duolog.broker.authorization.checks import Check, Effect
from duolog.broker.authorization.table import TABLE
from duolog.broker.router import find_apis
from duolog.security.authorization.operations import ResourceType
from unit.broker.authorization.fake_authorizer import rights_of
from unit.broker.authorization.samples import SAMPLES, Sample
from unit.broker.authorization.world import NAMES, OPEN, SECRET, World, codes, mentions, opened

STATES = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transaction",
    ResourceType.CLUSTER: "broker",
}
APIS = {int(api.key): api for api in find_apis()}
ROWS = [
    (key, row, version)
    for key, checks in TABLE.items()
    if key in APIS
    for row in range(len(checks))
    for version in sorted(
        {
            max(APIS[key].versions.start, SAMPLES[key, row].first),
            min(APIS[key].versions.stop - 1, SAMPLES[key, row].last),
        }
    )
]


def secret_name(check: Check, sample: Sample) -> str:
    return sample.name or NAMES[check.resource]


def ask(world: World, sample: Sample, version: int) -> Any:
    fields = sample.make(world, version, (OPEN, SECRET))
    return world.client().ask(sample.key, version, **fields)


def codes_of_secret(
    found: list[tuple[tuple[str, ...], int]], check: Check, item: str
) -> tuple[set[int], set[int]]:
    """Return the codes of what is forbidden, and those of the rest."""
    if check.effect is not Effect.ITEM or not any(item in names for names, _ in found):
        return {code for _, code in found}, set()
    return (
        {code for names, code in found if item in names},
        {code for names, code in found if item not in names},
    )


@pytest.mark.parametrize(("key", "row", "version"), ROWS)
def test_what_is_denied_is_answered_as_the_table_says_and_changes_nothing(
    key: int, row: int, version: int
) -> None:
    check, sample = TABLE[key][row], SAMPLES[key, row]
    name = secret_name(check, sample)
    item = sample.item or name
    rights = rights_of(check, name)
    with opened() as world:
        world.authorizer.change(*rights)
        before, ids = world.state(), world.names_by_id()

        answer = ask(world, sample, version)

        after = world.state()
        assert set(rights) <= set(world.authorizer.asked), "the handler did not ask"
        if check.effect in {Effect.REQUEST, Effect.ITEM}:
            found = codes(answer, ids)
            secret, others = codes_of_secret(found, check, item)
            assert secret == {check.code}
            assert others <= {0, sample.others}
        elif check.effect is Effect.LEFT_OUT:
            assert not mentions(answer, item, ids)
            assert mentions(answer, f"open{name.removeprefix('secret')}", ids)
        else:
            _assert_part_left_out(key, answer, check, name)
        if check.effect is Effect.REQUEST:
            assert after == before
        elif check.effect is Effect.ITEM:
            kinds = {(STATES[check.resource], name), *((kind, "") for kind in ("broker", "quotas"))}
            for kind in kinds:
                assert after.get(kind) == before.get(kind)

        world.authorizer.change()
        again = ask(world, sample, version)

        if check.effect in {Effect.REQUEST, Effect.ITEM}:
            secret, _ = codes_of_secret(codes(again, ids), check, item)
            assert check.code not in secret
        elif check.effect is Effect.LEFT_OUT and sample.key != 68:
            assert mentions(again, item, ids)


def _assert_part_left_out(key: int, answer: Any, check: Check, name: str) -> None:
    if key in {3, 60}:
        assert answer.cluster_authorized_operations == 0
        return
    (created,) = [row for row in answer.topics if row.name == name]
    assert (created.error_code, created.topic_config_error_code) == (0, check.code)
    assert (created.num_partitions, created.replication_factor, created.configs) == (-1, -1, ())
    (other,) = [row for row in answer.topics if row.name != name]
    assert (other.topic_config_error_code, other.num_partitions) == (0, 1)
    assert other.configs


@pytest.mark.parametrize(
    ("key", "row", "version"), [each for each in ROWS if TABLE[each[0]][each[1]].instead]
)
def test_each_right_suffices_instead_of_the_others(key: int, row: int, version: int) -> None:
    check, sample = TABLE[key][row], SAMPLES[key, row]
    name = secret_name(check, sample)
    rights = rights_of(check, name)
    for right in rights:
        with opened() as world:
            world.authorizer.change(*(other for other in rights if other != right))
            ids = world.names_by_id()

            answer = ask(world, sample, version)

            assert check.code not in {code for _, code in codes(answer, ids)}
            if check.effect is Effect.LEFT_OUT:
                assert mentions(answer, name, ids)


@pytest.mark.parametrize("key", sorted(APIS))
def test_a_handler_asks_for_nothing_that_is_not_in_its_rows(key: int) -> None:
    samples = [sample for (number, _), sample in SAMPLES.items() if number == key]
    listed = {
        right[:2]
        for row, check in enumerate(TABLE[key])
        for right in rights_of(check, secret_name(check, SAMPLES[key, row]))
    }
    for sample in samples:
        with opened() as world:
            denied = [
                right
                for row, check in enumerate(TABLE[key])
                if check.instead
                for right in rights_of(check, secret_name(check, SAMPLES[key, row]))
            ]
            world.authorizer.change(*denied)
            ask(world, sample, min(APIS[key].versions.stop - 1, sample.last))

            asked = {(operation, resource) for operation, resource, _ in world.authorizer.asked}
            assert asked
            assert asked <= listed


def test_every_api_has_rows_and_every_row_an_example() -> None:
    """An API without rows may be used by every client: those are named here."""
    # AlterUserScramCredentials has its row before its API.
    assert set(TABLE) - {51} <= set(APIS) <= set(TABLE)
    assert {key for key, checks in TABLE.items() if not checks} == {17, 18, 36}
    assert set(SAMPLES) == {(key, row) for key, rows in TABLE.items() for row in range(len(rows))}
    assert {APIS[key].name for key in (17, 18, 36)} == {
        "SaslHandshake",
        "ApiVersions",
        "SaslAuthenticate",
    }

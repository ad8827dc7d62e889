"""Configs of single groups, read and changed by clients."""

from typing import Any

import pytest

from duolog.broker.configs.group_resource import SESSION_TIMEOUT
from duolog.protocol.error_codes import ErrorCode
from unit.broker.configs.test_config_apis import APPEND, GROUP, SET, alter, one


def test_a_group_has_the_defaults_until_something_is_set_for_it(open_harness: Any) -> None:
    harness = open_harness()
    client = harness.client()
    before = one(client, GROUP, "g", SESSION_TIMEOUT)

    codes = [
        alter(client, GROUP, "g", (SESSION_TIMEOUT, SET, "50000")).error_code,
        alter(client, GROUP, "g", (SESSION_TIMEOUT, SET, "1")).error_code,
        alter(client, GROUP, "g", ("share.isolation.level", SET, "x")).error_code,
        alter(client, GROUP, "g", (SESSION_TIMEOUT, APPEND, "1")).error_code,
        alter(client, GROUP, "", (SESSION_TIMEOUT, SET, "50000")).error_code,
    ]
    harness.stop()
    harness = open_harness()

    assert before == ("45000", 5)
    bad = ErrorCode.INVALID_CONFIG
    assert codes == [0, bad, bad, bad, ErrorCode.INVALID_REQUEST]
    assert one(harness.client(), GROUP, "g", SESSION_TIMEOUT) == ("50000", 8)
    assert harness.broker.configs.groups.integer("g", SESSION_TIMEOUT) == 50_000
    assert harness.broker.configs.groups.integer("other", SESSION_TIMEOUT) == 45_000


@pytest.mark.parametrize(
    ("name", "value", "default", "bad"),
    [
        (
            "share.auto.offset.reset",
            "earliest",
            "latest",
            ["none", "by_duration:", "by_duration:P"],
        ),
        ("share.auto.offset.reset", "by_duration:P1DT2H", "latest", ["by_duration:PT", ""]),
        ("share.isolation.level", "read_committed", "read_uncommitted", ["x"]),
        ("share.record.lock.duration.ms", "20000", "30000", ["1", "70000"]),
        ("share.session.timeout.ms", "50000", "45000", ["1"]),
        ("streams.num.standby.replicas", "1", "0", ["3", "-1"]),
    ],
)
def test_configs_of_groups_that_do_not_exist_here_are_checked_and_kept(
    harness: Any, name: str, value: str, default: str, bad: list[str]
) -> None:
    """`share.auto.offset.reset` was refused, although the guide says that such configs are taken."""
    client = harness.client()
    before = one(client, GROUP, "g", name)

    code = alter(client, GROUP, "g", (name, SET, value)).error_code
    refused = {alter(client, GROUP, "g", (name, SET, text)).error_code for text in bad}

    assert before == (default, 5)
    assert (code, refused) == (0, {ErrorCode.INVALID_CONFIG})
    assert one(client, GROUP, "g", name) == (value, 8)

"""Values of settings that are secrets, in requests that change them."""

import logging
from typing import Any

import pytest

from duolog.broker.configs.broker_resource import BrokerConfigs
from duolog.broker.requests.request_log import RequestLog
from duolog.log.log_manager import LogManager


@pytest.mark.parametrize("key", [33, 44])
@pytest.mark.parametrize("fails", ["", "changing", "write_meta"])
def test_secrets_of_settings_are_in_no_log(
    harness: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    key: int,
    fails: str,
) -> None:
    """CVE-2026-33558: the values of AlterConfigs and IncrementalAlterConfigs, as of a broker."""

    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("hsuH"[::-1])

    caplog.set_level(logging.DEBUG)
    RequestLog(*(router.routes for router in harness.broker.entrances.all())).toggle()
    if fails:
        place = BrokerConfigs if fails == "changing" else LogManager
        monkeypatch.setattr(place, fails, failing)
    client = harness.client()
    secret = {"name": "ssl.keystore.key", "value": "Hush"} | (
        {"config_operation": 0} if key == 44 else {}
    )
    resource = {"resource_type": 4, "resource_name": "0", "configs": [secret]}

    answer = client.ask(key, 1, resources=[resource], validate_only=False)

    assert (answer.responses[0].error_code == 0) != bool(fails)
    text = caplog.text + "".join(str(record.__dict__) for record in caplog.records)
    assert "***" in text
    assert "Hush" not in text

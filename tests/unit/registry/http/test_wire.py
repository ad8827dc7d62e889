"""Responses as bytes."""

import time
from email.utils import formatdate

import pytest

from duolog.registry.http import wire
from duolog.registry.http.messages import HttpResponse


@pytest.mark.parametrize("second", [0, 951_782_399, 1_795_000_000, 2_000_000_000])
def test_the_date_has_the_form_of_http(second: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: second + 0.5)

    head = wire.encode(HttpResponse(200), method="GET", keep_alive=True).decode()

    assert f"Date: {formatdate(second, usegmt=True)}\r\n" in head


def test_an_error_has_the_registrys_form() -> None:
    response = wire.error_response(404, 'Subject "é" not found.', code=40401)

    assert response.body == b'{"error_code":40401,"message":"Subject \\"\\u00e9\\" not found."}'
    assert response.note == "40401"

import logging

from duolog.broker.log_lines import LineFormatter


def test_a_line_has_the_values_as_fields_and_stays_one_line() -> None:
    record = logging.LogRecord("duolog.broker.x", logging.INFO, "f", 1, "rolled", (), None)
    record.created = 0.5
    record.topic = "orders"
    record.reason = 'a "b"\nERROR fake'

    line = LineFormatter().format(record)

    assert line == (
        "1970-01-01T00:00:00.500Z INFO broker.x: rolled topic=orders "
        'reason="a \\"b\\"\\nERROR fake"'
    )

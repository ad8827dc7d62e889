from duolog.dsl.handles.html import table_html


def test_a_long_text_is_truncated_in_its_cell() -> None:
    """A record can have megabytes, and a notebook stores what it displays."""
    shown = table_html(["text"], [["<" * 1_000_000]], "one row")

    assert shown.count("&lt;") == 200
    assert "…</td>" in shown

from duolog.dsl.handles.html import table_html


def test_a_long_text_is_cut_and_stays_one_cell() -> None:
    """A record may have megabytes, and a notebook keeps what it has shown."""
    shown = table_html(["text"], [["<" * 1_000_000]], "one row")

    assert shown.count("&lt;") == 200
    assert "…</td>" in shown

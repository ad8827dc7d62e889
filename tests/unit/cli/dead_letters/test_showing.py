from duolog.cli.dead_letters.showing import letter_object, page
from duolog.cli.records.text_record import TEXT
from unit.runtime.dead_letters.making import headers, letter


def test_a_record_cannot_look_like_a_fact_about_it() -> None:
    forged = letter(
        value=b"1\nreplayed: yes\r\nleft out: all",
        more=(("a\nquery:", b"x\rerror: none"),),
        of=(*headers()[:1], ("__streams.errors.stacktrace", b"at x\nreplayed: yes")),
    )

    lines = page(letter_object(forged, TEXT, replayed=False)).splitlines()

    facts = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert facts == [
        *("letter", "written", "query", "source", "error", "message", "replayed", "left out"),
        *("key", "value", "header a", "stack trace", "at x"),
    ]

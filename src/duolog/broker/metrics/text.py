"""Metrics as Prometheus' text: a family has a name, a type, a sentence, and samples.

Source: Prometheus text exposition format 0.0.4.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from duolog.core.histogram import Histogram

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, object]
Sample = tuple[Labels, float]

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def head(name: str, kind: Kind, doc: str) -> str:
    return f"# HELP {name} {doc}\n# TYPE {name} {kind}\n"


def line(name: str, labels: Labels, value: float) -> str:
    r"""Return one sample.

    Example:
        >>> line("kafka_log_log_size", {"topic": 'a"b', "partition": 0}, 5)
        'kafka_log_log_size{topic="a\\"b",partition="0"} 5\n'
    """
    if not labels:
        return f"{name} {value}\n"
    inside = ",".join(f'{key}="{str(text).translate(_ESCAPES)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}\n"


def family(name: str, kind: Kind, doc: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of a family, one by one."""
    yield head(name, kind, doc)
    for labels, value in samples:
        yield line(name, labels, value)


def single(name: str, kind: Kind, doc: str, value: float) -> str:
    return head(name, kind, doc) + line(name, {}, value)


def histograms(
    name: str, doc: str, items: Iterable[tuple[Labels, Histogram]], *, scale: float = 1.0
) -> Iterator[str]:
    """Yield the lines of histograms; `scale` turns their unit into that of the name."""
    yield head(name, "histogram", doc)
    for labels, histogram in items:
        counts = list(histogram.counts)
        seen = 0
        for step, count in zip((*histogram.steps, float("inf")), counts, strict=True):
            seen += count
            text = "+Inf" if step == float("inf") else f"{step * scale:g}"
            yield line(f"{name}_bucket", {**labels, "le": text}, seen)
        yield line(f"{name}_sum", labels, histogram.sum * scale)
        yield line(f"{name}_count", labels, seen)

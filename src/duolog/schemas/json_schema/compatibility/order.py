"""The order in which Confluent's registry reports properties.

It keeps names in hash tables, so the order follows Java's hash of a string. Clients that compare
lists of messages depend on it.
"""

from collections.abc import Iterable

_SLOTS_MIN = 16


def hash_order(*names: Iterable[str]) -> list[str]:
    """Return all names once, in the order of a `HashSet` to which they were added.

    Example:
        >>> hash_order(["name", "id"], ["id", "f"])
        ['f', 'name', 'id']
    """
    distinct = list(dict.fromkeys(name for some in names for name in some))
    slots = _SLOTS_MIN
    while len(distinct) > slots * 3 // 4:
        slots *= 2
    return sorted(distinct, key=lambda name: _spread(name) & (slots - 1))


def _spread(name: str) -> int:
    code = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ (code >> 16)

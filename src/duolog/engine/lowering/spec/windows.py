"""Windows in the form of the kernel's spec."""

from duolog.engine.json_object import Json
from duolog.plan.windows import FixedWindows, TimeWindows, UnlimitedWindows
from duolog.plan.windows.calendar_windows import CalendarWindows


def lower_windows(windows: FixedWindows) -> Json:
    """Return windows that depend only on a record's timestamp."""
    match windows:
        case TimeWindows():
            return {
                "kind": "hopping",
                "size_ms": windows.size_ms,
                "advance_ms": windows.advance_ms,
                "origin_ms": windows.origin_ms,
                "grace_ms": windows.grace_ms,
            }
        case CalendarWindows():
            return {
                "kind": "calendar",
                "unit": windows.unit.upper(),
                "zone": windows.zone,
                "first_day": windows.first_day.upper(),
                "offset_ms": windows.offset_ms,
                "grace_ms": windows.grace_ms,
            }
        case UnlimitedWindows(start_ms=start_ms):
            return {"kind": "unlimited", "start_ms": start_ms}


def laid_out(windows: Json) -> str:
    """Return the part that state depends on. The grace period is not: it decides what is late."""
    match windows:
        case {"kind": "hopping", "size_ms": size, "advance_ms": advance, "origin_ms": origin}:
            return f"of {size} ms every {advance} ms" + (f" from {origin} ms on" if origin else "")
        case {"kind": "calendar", "unit": unit, "zone": zone, "first_day": first_day}:
            first = f" from {first_day.lower()} on" if unit == "WEEK" else ""
            # Checkpoints from before offsets existed have none.
            later = f", {offset} ms later" if (offset := windows.get("offset_ms")) else ""
            return f"calendar {unit.lower()}s{first} of {zone}{later}"
        case {"kind": "unlimited", "start_ms": start}:
            return f"one from {start} ms on"
        case _:
            raise AssertionError(windows)

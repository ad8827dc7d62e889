// Numbers, sizes, times and texts for people.
import { signal } from "@preact/signals";

/** The time zone of all times on the page: an IANA name, or `local`. */
export const timeZone = signal(stored("duolog.timeZone", "local"));

/** Set the time zone and remember it. */
export function chooseTimeZone(zone: string): void {
  timeZone.value = zone;
  store("duolog.timeZone", zone);
}

/** The zones to choose from, that of the browser first. */
export function zoneChoices(): { value: string; label: string }[] {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const named = Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC");
  return [
    { value: "local", label: `local (${own})` },
    ...["UTC", ...named].map((one) => ({ value: one, label: one })),
  ];
}

/** `2026-11-28 06:30:00.123` in the reader's zone; an empty text for null. */
export function formatTime(ms: number | string | null | undefined, zone: string = timeZone.value): string {
  if (ms === null || ms === undefined) return "";
  const at = Number(ms);
  if (!Number.isFinite(at) || Math.abs(at) > 8.64e15) return String(ms);
  const parts: Record<string, string> = {};
  for (const part of formatterOf(zone).formatToParts(at)) parts[part.type] = part.value;
  const milliseconds = String(((at % 1000) + 1000) % 1000).padStart(3, "0").slice(0, 3);
  return `${parts["year"]}-${parts["month"]}-${parts["day"]} ${parts["hour"]}:${parts["minute"]}:${parts["second"]}.${milliseconds}`;
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(zone: string): Intl.DateTimeFormat {
  let found = formatters.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-CA", {
      ...(zone === "local" ? {} : { timeZone: zone }),
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    formatters.set(zone, found);
  }
  return found;
}

/** `3 min ago`, `in 2 h`; for times near now. */
export function formatAgo(ms: number | null | undefined, now: number = Date.now()): string {
  if (ms === null || ms === undefined) return "";
  const text = formatDuration(Math.abs(now - ms));
  return now >= ms ? `${text} ago` : `in ${text}`;
}

const STEPS: readonly [number, string][] = [
  [31_536_000_000, "y"],
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** `250 ms`, `12 s`, `3 min 20 s`, `2 d 4 h`. */
export function formatDuration(given: number | string | null | undefined): string {
  if (given === null || given === undefined) return "";
  const ms = Number(given); // A text is what parseJson makes of 0.0.
  if (!Number.isFinite(ms)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  for (const [index, [size, unit]] of STEPS.entries()) {
    if (ms < size) continue;
    const whole = Math.floor(ms / size);
    const next = STEPS[index + 1];
    const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[0]);
    return rest > 0 && whole < 10 ? `${whole} ${unit} ${rest} ${next![1]}` : `${whole} ${unit}`;
  }
  return `${Math.round(ms)} ms`;
}

/** `1.5 KiB`; powers of 1024. */
export function formatBytes(bytes: number | string | null | undefined): string {
  if (bytes === null || bytes === undefined) return "";
  let value = Number(bytes);
  if (!Number.isFinite(value)) return String(bytes);
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/** `12,345`; texts with more digits than a double holds are grouped, too. */
export function formatCount(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}

/** `1,234/s`, `0.5/s`. */
export function formatRate(given: number | string | null | undefined): string {
  if (given === null || given === undefined) return "";
  const perSecond = Number(given); // As above.
  if (!Number.isFinite(perSecond)) return "";
  if (perSecond === 0) return "0/s";
  const text = perSecond < 10 ? perSecond.toFixed(perSecond < 1 ? 2 : 1) : formatCount(Math.round(perSecond));
  return `${text}/s`;
}

// C0 and C1 controls without tab and line feed, marks of direction, and characters without width:
// they could hide or reorder what a reader sees.
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Return a text whose control and direction characters are visible escapes such as `\u202e`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Read a choice of the reader; `otherwise` if there is none, or no storage. */
export function stored(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(name) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Remember a choice of the reader; without storage, it lasts as long as the page. */
export function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Private windows may have no storage.
  }
}

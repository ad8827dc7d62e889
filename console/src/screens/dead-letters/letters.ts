// Dead letters, as /v1/dead-letters has them, and corrections of their bytes.
import { parseJson } from "../../lib/json";

export interface Counted {
  letters: number;
  replayed: number;
  oldest: number | null;
  newest: number | null;
}

export interface LetterTopic extends Counted {
  topic: string;
  complete: boolean;
  knownBy: string[];
  queries: string[];
  mayReplay: boolean;
  groups: (Counted & { writer: string; reason: string; query: string; source: string })[];
}

export interface Part {
  text: string;
  format: string;
  bytes: number;
  cut: boolean;
}

export interface Letter {
  partition: number;
  offset: number | string;
  timestamp: number;
  writer: string;
  query: string;
  reason: string;
  errorClass: string;
  message: string;
  stacktrace: string;
  source: { topic: string | null; partition: number | null; offset: number | string | null; timestamp: number };
  replayed: boolean;
  replays: number;
  leftOut: string;
  headers: [string, Part | null][];
  key: Part | null;
  value: Part | null;
}

export interface Letters {
  letters: Letter[];
  more: boolean;
  next: string | null;
}

export interface Outcome {
  dryRun: boolean;
  letters: number;
  corrected: number;
  written: { topic: string; partition: number | null; letters: number }[];
  kept: { why: string; letters: number }[];
  failed: number;
  more: boolean;
  next: string | null;
}

/** A new key or value, as a request has it. */
export type Change = { text: string } | { base64: string } | { sql: string } | { null: true };

export type Mode = "same" | "text" | "json" | "hex" | "null";

/** `0:17`: the place of a letter in its topic. */
export function placeOf(letter: Pick<Letter, "partition" | "offset">): string {
  return `${letter.partition}:${letter.offset}`;
}

/** Return the change that a reader has entered; undefined for none. Throws Error with what is wrong. */
export function changeOf(mode: Mode, given: string): Change | undefined {
  switch (mode) {
    case "same":
      return undefined;
    case "null":
      return { null: true };
    case "text":
      return { text: given };
    case "json":
      try {
        parseJson(given);
      } catch (error) {
        throw new Error(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`);
      }
      // As a text: the server must not write numbers in another way.
      return { text: given };
    case "hex":
      return { base64: base64Of(bytesOfHex(given)) };
  }
}

/** Return the bytes of hexadecimal digits; white space is ignored. Throws Error. */
export function bytesOfHex(text: string): Uint8Array {
  const digits = text.replace(/\s+/g, "");
  if (!/^[0-9a-fA-F]*$/.test(digits)) throw new Error("Only the digits 0 to 9 and a to f are possible.");
  if (digits.length % 2 !== 0) throw new Error("A byte has two digits: one is missing.");
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => parseInt(digits.slice(at * 2, at * 2 + 2), 16));
}

/** Return bytes as hexadecimal digits, 16 bytes a line. */
export function hexOf(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
  const lines: string[] = [];
  for (let at = 0; at < digits.length; at += 16) lines.push(digits.slice(at, at + 16).join(" "));
  return lines.join("\n");
}

/** Return bytes as text; null if they are not UTF-8. A byte order mark stays. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Return the mode in which bytes are best corrected: JSON and text as such, others as digits. */
export function modeOf(bytes: Uint8Array): Exclude<Mode, "same" | "null"> {
  const text = textOf(bytes);
  // eslint-disable-next-line no-control-regex
  if (text === null || /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text)) return "hex";
  return /^\s*[[{]/.test(text) ? "json" : "text";
}

/** Add the outcome of the next request of a replay. */
export function sumOf(before: Outcome | null, next: Outcome): Outcome {
  if (before === null) return next;
  const written = new Map(before.written.map((one) => [`${one.topic}:${one.partition}`, { ...one }]));
  for (const one of next.written) {
    const known = written.get(`${one.topic}:${one.partition}`);
    if (known === undefined) written.set(`${one.topic}:${one.partition}`, { ...one });
    else known.letters += one.letters;
  }
  const kept = new Map(before.kept.map((one) => [one.why, one.letters]));
  for (const one of next.kept) kept.set(one.why, (kept.get(one.why) ?? 0) + one.letters);
  return {
    ...next,
    letters: before.letters + next.letters,
    corrected: before.corrected + next.corrected,
    failed: before.failed + next.failed,
    written: [...written.values()],
    kept: [...kept].map(([why, letters]) => ({ why, letters })),
  };
}

/** The selection of a list, as its address has it and as requests take it. */
export interface Selection {
  reason: string;
  query: string;
  source: string;
  status: string;
  since: string;
}

const HOURS: Record<string, number> = { "1h": 1, "24h": 24, "7d": 168 };

/** Return the parameters of a request for a selection; `now` is the time in milliseconds. */
export function parametersOf(chosen: Selection, now: number): Record<string, string | undefined> {
  const hours = HOURS[chosen.since];
  const given = (value: string) => (value === "" ? undefined : value);
  return {
    reason: given(chosen.reason),
    query: given(chosen.query),
    source: given(chosen.source),
    replayed: chosen.status === "open" ? "false" : chosen.status === "replayed" ? "true" : undefined,
    since: hours === undefined ? undefined : String(now - hours * 3_600_000),
  };
}

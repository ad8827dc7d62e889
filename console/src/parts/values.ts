// The logic of the viewer of values: parse without loss, cut, and write as hexadecimal rows.
import { quoteInexact } from "../lib/json";

/** A key, value or header as the server shows it. */
export interface Part {
  text: string;
  format: string;
  kind: "json" | "text" | "hex";
  bytes: number;
  truncated: boolean;
  schemaId?: number | string;
  problem?: string;
}

/** Longer texts are not parsed: that would keep the page from answering. */
export const PARSED_MAX = 1_000_000;
/** Characters that are shown at once. */
export const TEXT_STEP = 16_384;
/** Fields or items that are shown at once. */
export const CHILDREN_STEP = 200;
/** Bytes that are shown at once as hexadecimal digits. */
export const HEX_STEP = 2_048;
const STRING_MAX = 600;

// A private character: numbers with more digits than a double holds are texts that start with it.
const MARK = "\ue0ff#";

/** Return the value of a JSON text, without loss: see `scalar`. Undefined if it is not JSON, or too long. */
export function parsed(text: string): unknown {
  if (text.length > PARSED_MAX) return undefined;
  try {
    return JSON.parse(quoteInexact(text, MARK)) as unknown;
  } catch {
    return undefined;
  }
}

export type Kind = "object" | "array" | "string" | "number" | "literal";

export function kindOf(value: unknown): Kind {
  if (Array.isArray(value)) return "array";
  if (typeof value === "object" && value !== null) return "object";
  if (typeof value === "string") return value.startsWith(MARK) ? "number" : "string";
  return typeof value === "number" ? "number" : "literal";
}

/** Return a scalar as it is shown: texts in quotes, numbers with all their digits. */
export function scalar(value: unknown): string {
  if (typeof value === "string") return value.startsWith(MARK) ? value.slice(MARK.length) : JSON.stringify(value);
  return String(value);
}

/** Return the scalar cut to what one line should have, and whether it was cut. */
export function cut(text: string, most = STRING_MAX): { text: string; more: number } {
  if (text.length <= most) return { text, more: 0 };
  // A pair of surrogates is one character.
  const end = isHigh(text.charCodeAt(most - 1)) ? most - 1 : most;
  return { text: text.slice(0, end), more: text.length - end };
}

/** Return names and values of an object or array, from the first on. */
export function children(value: unknown, most: number): [string, unknown][] {
  if (Array.isArray(value)) return value.slice(0, most).map((one, at) => [String(at), one]);
  const found: [string, unknown][] = [];
  for (const name in value as object) {
    if (found.length >= most) break;
    found.push([name, (value as Record<string, unknown>)[name]]);
  }
  return found;
}

export function sizeOf(value: unknown): number {
  return Array.isArray(value) ? value.length : Object.keys(value as object).length;
}

/** Return rows of sixteen bytes: offset, digits, and the characters of ASCII. */
export function hexRows(bytes: Uint8Array, from = 0, most = HEX_STEP): string[] {
  const rows: string[] = [];
  for (let at = from; at < Math.min(bytes.length, from + most); at += 16) {
    const some = bytes.subarray(at, at + 16);
    const digits = Array.from(some, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const letters = Array.from(some, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    rows.push(`${at.toString(16).padStart(8, "0")}  ${digits.padEnd(47)}  ${letters}`);
  }
  return rows;
}

/** Return the bytes of a part as far as they are known. */
export function bytesOf(part: Part): Uint8Array {
  if (part.kind !== "hex") return new TextEncoder().encode(part.text);
  const found = new Uint8Array(Math.floor(part.text.length / 2));
  for (let at = 0; at < found.length; at += 1) found[at] = parseInt(part.text.slice(2 * at, 2 * at + 2), 16);
  return found;
}

/** Return the beginning of a value as one line, for a cell of a table. */
export function preview(part: Part | null, most = 300): string {
  if (part === null) return "null";
  return cut(part.text.slice(0, most * 4).replace(/\s+/g, " "), most).text;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

// Rows as files: numbers exactly as the server wrote them.
import { plainText } from "../../lib/raw-json";
import type { ResultColumn, Row } from "./rows";

/** Return rows as CSV of RFC 4180, in parts; null is an empty field. */
export function csvOf(columns: readonly ResultColumn[], rows: readonly Row[]): string[] {
  const head = columns.map((one) => csvField(one.name)).join(",");
  return [`${head}\r\n`, ...rows.map((row) => `${columns.map((_, at) => csvCell(row.cells[at])).join(",")}\r\n`)];
}

/** Return rows as a JSON object per line; a deleted row has a member `@deleted`. */
export function jsonLinesOf(columns: readonly ResultColumn[], rows: readonly Row[]): string {
  const names = columns.map((one) => JSON.stringify(one.name));
  const lines = rows.map((row) => {
    const members = names.map((name, at) => `${name}:${row.cells[at] ?? "null"}`);
    return `{${members.join(",")}${row.tombstone ? ',"@deleted":true' : ""}}\n`;
  });
  return lines.join("");
}

/** Let the browser save a file. */
export function download(name: string, type: string, parts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...parts], { type: `${type};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function csvCell(raw: string | undefined): string {
  return raw === undefined || raw === "null" ? "" : csvField(plainText(raw), raw.startsWith('"'));
}

function csvField(text: string, isText = true): string {
  // A spreadsheet would run a text that starts like a formula.
  const safe = isText && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

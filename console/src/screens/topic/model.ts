// What the server answers about one topic, and the state of its screen in the address.
import { formatCount } from "../../lib/format";
import type { Part } from "../../parts/values";

export interface Partition {
  partition: number;
  leader: number | null;
  replicas: number[];
  inSync: number[];
  logStart: string | null;
  end: string | null;
  records: string | null;
}

export interface Config {
  name: string;
  value: string | null;
  source: "topic" | "broker" | "default";
  read_only: boolean;
  sensitive: boolean;
}

export type Right = "read" | "write" | "delete" | "alter" | "alterConfigs";

export interface Topic {
  name: string;
  internal: boolean;
  replication: number;
  partitions: Partition[];
  configs: Config[] | null;
  may: Record<Right, boolean>;
}

export interface BrowsedRecord {
  partition: number;
  offset: string;
  timestamp: string;
  timestampType: string;
  size: number;
  key: Part | null;
  value: Part | null;
  headers: [string, Part | null][];
  headersLeftOut: number;
}

export interface Page {
  records: BrowsedRecord[];
  read: number;
  matched: number;
  bytesRead: number;
  stopped: string | null;
  end: boolean;
  next: string | null;
}

/** The state of the records in the address; empty texts are defaults. */
export interface Seek {
  from: string;
  order: string;
  partition: string;
  limit: string;
  search: string;
  in: string;
  where: string;
  key_format: string;
  value_format: string;
  isolation: string;
}

export const SEEK: Seek = {
  from: "",
  order: "",
  partition: "",
  limit: "",
  search: "",
  in: "",
  where: "",
  key_format: "",
  value_format: "",
  isolation: "",
};

export const FORMATS = ["AUTO", "AVRO", "PROTOBUF", "JSON_SR", "JSON", "MSGPACK", "INT", "BIGINT", "DOUBLE", "STRING", "BYTES"];

/** The parameters that all reads have. */
export function filtersOf(seek: Seek): Record<string, string | undefined> {
  const { partition, search, in: parts, where, key_format, value_format, isolation } = seek;
  return withoutEmpty({ partition, search, in: search === "" ? "" : parts, where, key_format, value_format, isolation });
}

/** The parameters of a page or an export. */
export function placeOf(seek: Seek): Record<string, string | undefined> {
  return { ...filtersOf(seek), ...withoutEmpty({ from: seek.from, order: seek.order, limit: seek.limit }) };
}

export function withoutEmpty(given: Record<string, string>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
}

export type StartKind = "newest" | "beginning" | "offset" | "last" | "time";

/** Return the kind of a start and what was typed for it. */
export function startOf(from: string, order: string): { kind: StartKind; value: string } {
  if (from.startsWith("@")) return { kind: "time", value: from.slice(1) };
  if (from.startsWith("-")) return { kind: "last", value: from.slice(1) };
  if (/^\d+$/.test(from)) return { kind: "offset", value: from };
  return { kind: from === "beginning" || order === "oldest" ? "beginning" : "newest", value: "" };
}

/** Return the parameter `from` of a start; null if what was typed is not one. */
export function fromOf(kind: StartKind, value: string, now: number = Date.now()): string | null {
  const text = value.trim();
  if (kind === "newest") return "";
  if (kind === "beginning") return "beginning";
  if (kind === "time") {
    const ms = timeOf(text, now);
    return ms === null ? null : `@${ms}`;
  }
  if (!/^\d{1,18}$/.test(text)) return null;
  return kind === "last" ? `-${text}` : text;
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Return a time in milliseconds: an age such as 10m, milliseconds, or a date with a time. */
export function timeOf(text: string, now: number): number | null {
  const age = /^(\d{1,6})\s*([smhd])$/.exec(text);
  if (age !== null) return Math.max(0, now - Number(age[1]) * UNITS[age[2]!]!);
  if (/^\d{10,15}$/.test(text)) return Number(text);
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text.replace(" ", "T")) : NaN;
  return Number.isFinite(parsed) && parsed >= 0 ? parsed : null;
}

export interface Position {
  line: number;
  column: number;
  length: number;
}

/** Return the line of a predicate that an error is about, and carets below the place. */
export function marked(text: string, at: Position): { line: string; carets: string } {
  const line = text.split("\n")[at.line - 1] ?? "";
  const column = Math.max(0, Math.min(at.column - 1, line.length));
  return { line, carets: `${" ".repeat(column)}${"^".repeat(Math.max(1, at.length))}` };
}

/** Return the predicate position in the body of an error. */
export function positionOf(body: unknown): Position | null {
  const at = (body as { position?: Position } | null)?.position;
  return at === undefined ? null : at;
}

const STOPS: Record<string, string> = {
  records: "The limit of records for one search is reached.",
  bytes: "The limit of bytes for one search is reached.",
  time: "The limit of time for one search is reached.",
  stopped: "The read was stopped.",
};

/** Return how many offsets a search may have to read; null if it begins somewhere within the topic. */
export function offsetsOf(topic: Topic, seek: Seek): string | null {
  if (!["", "beginning"].includes(seek.from)) return null;
  const read = topic.partitions.filter((one) => seek.partition === "" || String(one.partition) === seek.partition);
  return String(read.reduce((sum, one) => sum + BigInt(one.records ?? 0), 0n));
}

/** Say how far a search is. */
export function progressOf(page: Page, offsets: string | null): string {
  const count = page.records.length;
  const of = offsets === null ? "" : ` of about ${formatCount(offsets)}`;
  return `Searching: ${formatCount(page.read)}${of} read, ${formatCount(count)} ${count === 1 ? "record" : "records"} found.`;
}

/** Say what a page has read. */
export function told(page: Page, selects: boolean): string {
  const shown = `${page.records.length} ${page.records.length === 1 ? "record" : "records"} shown`;
  const read = selects ? `, ${page.read.toLocaleString("en")} read` : "";
  const why = page.stopped === null || page.stopped === "limit" ? "" : ` ${STOPS[page.stopped] ?? ""} Continue with the next page.`;
  const end = page.end ? ". This is the end." : ".";
  return `${shown}${read}${why === "" ? end : `.${why}`}`;
}

// The state of the SQL screen: text, session, results; and what the browser keeps of it.
import { computed, signal } from "@preact/signals";
import { store, stored } from "../../lib/format";
import type { Checked } from "./assist";
import { DEFAULT_LIMITS, type Limits } from "./query";
import { publicValues, withoutSecrets } from "./secrets";
import type { Result } from "./runner";

/** What each request carries of the session. */
export interface SessionValues {
  properties: Record<string, string>;
  sessionVariables: Record<string, string>;
}

export interface Past {
  sql: string;
  atMs: number;
  failed: boolean;
}

export interface Saved {
  name: string;
  sql: string;
}

export const OFFSET_RESET = "auto.offset.reset";
const HISTORY_MAX = 200;
const KEPT_CHARACTERS = 20_000;
const EXAMPLE = `-- Ctrl+Enter (⌘ Enter) runs the statement at the cursor, or the selection.
SHOW STREAMS;
`;

export const text = signal(stored("duolog.sql.text", EXAMPLE));
/** Increases when the text is replaced by something else than typing. */
export const textRevision = signal(0);
export const properties = signal<Record<string, string>>(readValues("duolog.sql.properties"));
export const variables = signal<Record<string, string>>(readValues("duolog.sql.variables"));
export const limits = signal<Limits>(DEFAULT_LIMITS);
/** The last check of the text; null if it failed, undefined before the first one. */
export const checked = signal<Checked | null | undefined>(undefined);
export const results = signal<readonly Result[]>([]);
export const shownResult = signal(0);
export const past = signal<readonly Past[]>(readList("duolog.sql.history", isPast));
export const saved = signal<readonly Saved[]>(readList("duolog.sql.saved", isSaved));
/** Counts changes of the catalog that this page has made. */
export const catalogChanges = signal(0);

/** Where this server starts to read if nothing else is chosen; empty before it has answered. */
export const serverStart = signal("");

/** Return whether queries of this session read the records that exist already. */
export function readsAll(): boolean {
  return (properties.value[OFFSET_RESET] ?? serverStart.value) === "earliest";
}

export const session = computed<SessionValues>(() => ({
  properties: properties.value,
  sessionVariables: variables.value,
}));

/** Change the text; the browser keeps it without its secrets. */
export function setText(value: string): void {
  text.value = value;
  store("duolog.sql.text", withoutSecrets(value).slice(0, KEPT_CHARACTERS * 10));
}

/** Replace the text in the editor. */
export function replaceText(value: string): void {
  setText(value);
  textRevision.value += 1;
}

/** Set or remove a property or a variable. */
export function setValue(of: "property" | "variable", name: string, value: string | null): void {
  const target = of === "property" ? properties : variables;
  const { [name]: _, ...rest } = target.value;
  target.value = value === null ? rest : { ...rest, [name]: value };
  keepSession();
}

export function keepSession(): void {
  store("duolog.sql.properties", JSON.stringify(publicValues(properties.value)));
  store("duolog.sql.variables", JSON.stringify(publicValues(variables.value)));
}

/** Remember a statement that was run, without its secrets. */
export function remember(sql: string, failed: boolean): void {
  const one: Past = { sql: withoutSecrets(sql).slice(0, KEPT_CHARACTERS), atMs: Date.now(), failed };
  past.value = [one, ...past.value.filter((other) => other.sql !== one.sql)].slice(0, HISTORY_MAX);
  store("duolog.sql.history", JSON.stringify(past.value));
}

export function forgetPast(): void {
  past.value = [];
  store("duolog.sql.history", "[]");
}

/** Save a text under a name; an older one of the name is replaced. */
export function save(name: string, sql: string): void {
  const others = saved.value.filter((one) => one.name !== name);
  saved.value = [...others, { name, sql: withoutSecrets(sql) }].sort((a, b) => a.name.localeCompare(b.name));
  store("duolog.sql.saved", JSON.stringify(saved.value));
}

export function unsave(name: string): void {
  saved.value = saved.value.filter((one) => one.name !== name);
  store("duolog.sql.saved", JSON.stringify(saved.value));
}

function readValues(key: string): Record<string, string> {
  const found = read(key);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return {};
  return Object.fromEntries(Object.entries(found).filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

function readList<T>(key: string, is: (value: unknown) => value is T): T[] {
  const found = read(key);
  return Array.isArray(found) ? found.filter(is) : [];
}

function read(key: string): unknown {
  try {
    return JSON.parse(stored(key, "null"));
  } catch {
    return null;
  }
}

function isPast(value: unknown): value is Past {
  const one = value as Past | null;
  return typeof one?.sql === "string" && typeof one.atMs === "number";
}

function isSaved(value: unknown): value is Saved {
  const one = value as Saved | null;
  return typeof one?.sql === "string" && typeof one.name === "string";
}

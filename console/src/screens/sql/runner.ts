// Runs statements, one after the other, and collects their results.
//
// Rows come from /query-stream, everything else from /ksql. A push query continues while the next
// statements run. SET and DEFINE change the session of the page. The first error ends a run.
import { ApiError, asApiError, post } from "../../lib/api";
import { check, type Statement } from "./assist";
import { RunningQuery } from "./query";
import {
  catalogChanges,
  limits,
  properties,
  readsAll,
  remember,
  results,
  session,
  setValue,
  shownResult,
  variables,
} from "./state";

export type Entity = Record<string, unknown>;

export interface Result {
  id: number;
  sql: string;
  /** Increases with each change, so that a view knows when to render. */
  version: number;
  query: RunningQuery | null;
  entities: readonly Entity[];
  message: string;
  /** What the reader should know about a statement that has succeeded. */
  note: string;
  error: ApiError | null;
  running: boolean;
}

const RESULTS_MAX = 12;
let last = 0;

/** Run the statements of a text; return false if one has failed. */
export async function run(sql: string): Promise<boolean> {
  let statements: Statement[];
  try {
    const found = await check(sql, session.value);
    statements = found.statements;
    const broken = statements.findIndex((one) => one.kind === "unknown");
    const first = found.diagnostics.find((one) => one.severity === "error" && one.rule === "syntax");
    if (broken >= 0 && first !== undefined) {
      const { message, detail, hint, start } = first;
      // As for the whole of a request: a text that cannot be read runs in no part.
      const place = `Line ${start.line}, column ${start.column}: ${message}`;
      add(sql, { error: new ApiError(place, 400, 0, detail, hint) });
      remember(sql, true);
      return false;
    }
  } catch (error) {
    add(sql, { error: asApiError(error) });
    return false;
  }
  for (const one of statements) {
    if (!(await runOne(sql.slice(one.start.offset, one.end.offset), one))) return false;
  }
  return true;
}

/** Run EXPLAIN of a statement; return its description. Throws ApiError. */
export async function explain(sql: string): Promise<Entity | null> {
  const explained = /^\s*explain\b/i.test(sql) ? sql : `EXPLAIN ${sql}`;
  const found = await ksql(explained);
  return (found[0]?.["queryDescription"] as Entity | undefined) ?? null;
}

/** End a query and remove its result. */
export function closeResult(result: Result): void {
  void result.query?.cancel();
  const rest = results.value.filter((one) => one.id !== result.id);
  results.value = rest;
  if (shownResult.value === result.id) shownResult.value = rest[0]?.id ?? 0;
}

/** End all queries that run; when the reader leaves the page. */
export function cancelAll(): void {
  for (const one of results.value) void one.query?.cancel();
}

async function runOne(sql: string, statement: Statement): Promise<boolean> {
  const kind = statement.kind;
  if (kind === "pull" || kind === "push" || kind === "print") {
    return runRows(sql, kind);
  }
  const result = add(sql, { running: true });
  try {
    const entities = await ksql(sql);
    const change = statement.change;
    if (change !== null) setValue(change.of, change.name, change.value);
    const message = entities.length === 0 ? messageOf(statement) : "";
    update(result, { entities, message, note: noteOf(entities), running: false });
    if (kind === "ddl" || kind === "query") catalogChanges.value += 1;
    remember(sql, false);
    return true;
  } catch (error) {
    const found = asApiError(error);
    const before = (found.body as { entities?: Entity[] } | null)?.entities ?? [];
    update(result, { error: found, entities: before, running: false });
    remember(sql, true);
    return false;
  }
}

/** Start a query; wait for the end of a pull query, but not of one without an end. */
function runRows(sql: string, kind: "pull" | "push" | "print"): Promise<boolean> {
  const result = add(sql, { running: true });
  return new Promise((resolve) => {
    let settled = false;
    const query = new RunningQuery(sql, kind, session.value, limits.value, () => {
      update(result, { running: query.live, error: query.error });
      const ready = !query.live || (kind !== "pull" && query.state !== "starting");
      if (ready && !settled) {
        settled = true;
        remember(sql, query.state === "failed");
        resolve(query.state !== "failed");
      }
    });
    update(result, { query });
  });
}

async function ksql(sql: string): Promise<Entity[]> {
  return post<Entity[]>("/ksql", {
    ksql: sql,
    streamsProperties: properties.value,
    sessionVariables: variables.value,
  });
}

function noteOf(entities: readonly Entity[]): string {
  const begun = entities.some((one) => Boolean((one["commandStatus"] as Entity | undefined)?.["queryId"]));
  if (!begun || readsAll()) return "";
  return (
    "The query reads the records that arrive from now on. To include those that exist already, drop what it has created, " +
    "set “Read streams from” to earliest, and run the statement again."
  );
}

function messageOf(statement: Statement): string {
  const change = statement.change;
  if (change === null) return statement.kind === "insert" ? "Written." : "Done.";
  const what = `${change.of === "property" ? "Property" : "Variable"} ${change.name}`;
  if (change.value === null) return `${what} is removed from the session of this page.`;
  return `${what} is set for the statements that this page runs from now on.`;
}

function add(sql: string, some: Partial<Result>): Result {
  const made: Result = {
    id: ++last,
    sql,
    version: 0,
    query: null,
    entities: [],
    message: "",
    note: "",
    error: null,
    running: false,
    ...some,
  };
  // Results of statements that have ended make room, the oldest first.
  const kept = [made, ...results.value];
  while (kept.length > RESULTS_MAX) {
    const at = kept.findLastIndex((one) => !one.running);
    if (at <= 0) break;
    kept.splice(at, 1);
  }
  results.value = kept;
  shownResult.value = made.id;
  return made;
}

function update(result: Result, change: Partial<Result>): void {
  results.value = results.value.map((one) =>
    one.id === result.id ? { ...one, ...change, version: one.version + 1 } : one,
  );
}

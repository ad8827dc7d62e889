// The figures of persistent queries, as /v1/queries has them, and what the screens compute from them.
import { formatCount, formatDuration } from "../../lib/format";

export type Trend = "rising" | "falling" | "steady" | null;

export interface Flow {
  records: number;
  recordsPerSecond: number | null;
}

export interface History {
  stepMs: number;
  atMs: number[];
  in?: (number | null)[];
  out?: (number | null)[];
  lagRecords?: (number | null)[];
  lagMs?: (number | null)[];
  errors?: (number | null)[];
  stateBytes?: (number | null)[];
}

export interface PartitionLag {
  topic: string;
  partition: number;
  position: number | string;
  end: number | string | null;
  records: number | null;
  ms: number | null;
}

export interface Query {
  id: string;
  state: string;
  error: string;
  statement: string;
  sources: string[];
  sink: string;
  topic: string;
  server: string;
  jvmGroup: string;
  atMs: number | null;
  ageMs: number | null;
  startedAtMs: number | null;
  uptimeMs: number | null;
  restarts: number;
  failures: number;
  in: Flow & { topics: Record<string, Flow> };
  out: Flow & { bytes: number; topics: Record<string, Flow> };
  lag: { records: number | null; recordsTrend: Trend; ms: number | null; msTrend: Trend; partitions: PartitionLag[] };
  errors: Record<string, number>;
  lateRecords: number;
  stores: { name: string; rows: number; bytes: number; countedAtMs: number | null }[];
  stateBytes: number | null;
  lastResultAgeMs: number | null;
  mayChange: boolean;
  history?: History;
}

export interface Step {
  name: string;
  kind: string;
  does: string;
  reads: string[];
  stores: string[];
}

export interface QueryDetail extends Query {
  plan: Step[];
  settings: Record<string, string | string[]>;
}

/** Return the number of errors of all kinds. */
export function errorsOf(query: Pick<Query, "errors">): number {
  return Object.values(query.errors).reduce((sum, one) => sum + one, 0);
}

const ARROWS = { rising: "↑", falling: "↓", steady: "→" } as const;

/** `1,200 ↑`: a lag with its trend; empty if it is unknown. For what hears it, see `WithTrend`. */
export function withTrend(text: string, trend: Trend): string {
  return text === "" || trend === null ? text : `${text} ${ARROWS[trend]}`;
}

/** `12 s ago`, `just now`; empty if it is unknown. */
export function agoText(ageMs: number | null): string {
  if (ageMs === null) return "";
  return ageMs < 1000 ? "just now" : `${formatDuration(ageMs)} ago`;
}

/** `7 records, 2 s, rising`: a lag for people who hear it. */
export function lagText(lag: Query["lag"]): string {
  const parts = [
    lag.records === null ? "" : `${formatCount(lag.records)} ${lag.records === 1 ? "record" : "records"}`,
    lag.ms === null ? "" : formatDuration(lag.ms),
    lag.msTrend ?? "",
  ].filter((one) => one !== "");
  return parts.length === 0 ? "unknown" : parts.join(", ");
}

/** Return the points of a small line in a box: x from left to right, y down; gaps part the line. */
export function linesOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
): { x: number; y: number }[][] {
  const known = values.filter((one) => one !== null);
  const low = Math.min(0, ...known);
  const span = Math.max(...known, low + 1e-9) - low;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const lines: { x: number; y: number }[][] = [[]];
  for (const [index, value] of values.entries()) {
    if (value === null) lines.push([]);
    else lines[lines.length - 1]!.push({ x: index * step, y: height - ((value - low) / span) * height });
  }
  return lines.filter((one) => one.length > 0);
}

/** Return the queries that a reader looks for: a text in id, statement, sink or server, and a state. */
export function chosen(queries: readonly Query[], text: string, state: string): Query[] {
  const wanted = text.trim().toLowerCase();
  return queries.filter(
    (one) =>
      (state === "" || one.state === state) &&
      (wanted === "" ||
        [one.id, one.statement, one.sink, one.server, ...one.sources].some((part) => part.toLowerCase().includes(wanted))),
  );
}

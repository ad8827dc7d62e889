// Sums over the queries of a server.

export interface Lineage {
  sources: { name: string; type: "STREAM" | "TABLE" }[];
}

export interface Query {
  id: string;
  state: string;
  error: string | null;
  statement: string;
  sink: string | null;
  in?: { records: number; recordsPerSecond: number | null };
  out?: { records: number; recordsPerSecond: number | null };
  lag?: { records: number | null; ms: number | null };
  errors?: Record<string, number>;
}

export interface Figures {
  topics: number;
  streams: number;
  tables: number;
  /** States of queries with their numbers, the most frequent first. */
  states: [string, number][];
  /** Records that were not read yet, of all queries; null if no query knows. */
  lagRecords: number | null;
  /** The lag in time of the query that is furthest behind; null if no query knows. */
  lagMs: number | null;
  errors: number;
  rate: number | null;
}

const OWN = "KSQL_PROCESSING_LOG";

/** Return whether nobody has declared or created anything on a server. */
export function isNew(lineage: Lineage, topics: number): boolean {
  return topics === 0 && declared(lineage).length === 0;
}

export function figuresOf(lineage: Lineage, queries: readonly Query[], topics: number): Figures {
  const sources = declared(lineage);
  const states = new Map<string, number>();
  for (const { state } of queries) states.set(state, (states.get(state) ?? 0) + 1);
  return {
    topics,
    streams: sources.filter((one) => one.type === "STREAM").length,
    tables: sources.filter((one) => one.type === "TABLE").length,
    states: [...states].sort((a, b) => b[1] - a[1]),
    lagRecords: total(queries.map((one) => one.lag?.records)),
    lagMs: most(queries.map((one) => one.lag?.ms)),
    errors: queries.reduce((sum, one) => sum + errorsOf(one), 0),
    rate: total(queries.map((one) => one.in?.recordsPerSecond)),
  };
}

/** Return the number of records that a query could not read, process or write. */
export function errorsOf(query: Query): number {
  return Object.values(query.errors ?? {}).reduce((sum, one) => sum + Number(one ?? 0), 0);
}

/** Return whether somebody has declared a stream or a table. */
export function hasSources(lineage: Lineage): boolean {
  return declared(lineage).length > 0;
}

function declared(lineage: Lineage) {
  return lineage.sources.filter((one) => one.name !== OWN);
}

function total(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((one) => one !== null && one !== undefined).map(Number);
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0);
}

function most(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((one) => one !== null && one !== undefined).map(Number);
  return known.length === 0 ? null : Math.max(...known);
}

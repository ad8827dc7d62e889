// Streams and tables, as /v1/sources has them.
export interface SourceColumn {
  name: string;
  type: string;
  role: "KEY" | "VALUE" | "HEADERS" | "HEADER";
}

export interface Source {
  name: string;
  type: "STREAM" | "TABLE";
  topics: string[];
  isPattern: boolean;
  pattern: string | null;
  isReadOnly: boolean;
  keyFormat: string;
  valueFormat: string;
  windowType: string | null;
  windowMs: number | null;
  timestamp: string | null;
  statement: string | null;
  columns: SourceColumn[];
  partitions: number | null;
  records: number | null;
  recordsPerSecond: number | null;
  lastResultAgeMs: number | null;
  writtenBy: string[];
  readBy: string[];
}

/** Return the sources that a reader looks for: a text in name, topic or column, and a type. */
export function chosenSources(sources: readonly Source[], text: string, type: string): Source[] {
  const wanted = text.trim().toLowerCase();
  const holds = (part: string) => part.toLowerCase().includes(wanted);
  return sources.filter(
    (one) =>
      (type === "" || one.type === type) &&
      (wanted === "" || holds(one.name) || one.topics.some(holds) || one.columns.some((column) => holds(column.name))),
  );
}

/** `ID STRING, PLACE STRING`: the columns of the key. */
export function keyText(source: Source): string {
  return source.columns
    .filter((one) => one.role === "KEY")
    .map((one) => `${one.name} ${one.type}`)
    .join(", ");
}

// The lines of a query's answer: its header, rows, tokens, messages and errors.
//
//   [{"header":{"queryId":"…","schema":"`ID` STRING KEY, `N` INTEGER"}},
//   {"row":{"columns":["a",1]}},          {"row":{"columns":["a",null],"tombstone":true}},
//   {"continuationToken":{"continuationToken":"…"}},
//   {"finalMessage":"Limit Reached"}]     {"errorMessage":{"error_code":50302,"message":"…"}}]
//
// PRINT answers with lines of text. Values of rows stay JSON texts: numbers are shown as they were
// written.
import { membersOf } from "../../lib/raw-json";

export interface ResultColumn {
  name: string;
  type: string;
  key: boolean;
}

export interface Row {
  /** Counts the rows of a result. */
  id: number;
  /** JSON texts, one for each column. */
  cells: readonly string[];
  tombstone: boolean;
  /** Characters of all cells. */
  size: number;
}

export type Line =
  | { of: "header"; queryId: string; columns: ResultColumn[] }
  | { of: "row"; cells: string[]; tombstone: boolean }
  | { of: "token"; token: string }
  | { of: "end"; message: string }
  | { of: "error"; message: string; code: number }
  | { of: "nothing" };

interface Members {
  header?: { queryId?: string; schema?: string };
  continuationToken?: { continuationToken?: string };
  finalMessage?: string;
  errorMessage?: { message?: string; error_code?: number };
}

const ROW = '{"row":{"columns":[';

/** Return what a line says; throws SyntaxError for a line that is not of this form. */
export function parseLine(text: string): Line {
  let line = text.trim();
  if (line.startsWith("[") || line.startsWith(",")) line = line.slice(1).trimStart();
  if (line.endsWith(",") || line.endsWith("]")) line = line.slice(0, -1).trimEnd();
  if (line === "") return { of: "nothing" };
  if (line.startsWith(ROW)) {
    const { members, end } = membersOf(line, ROW.length - 1);
    return { of: "row", cells: members, tombstone: line.slice(end).includes('"tombstone":true') };
  }
  const found = JSON.parse(line) as Members;
  if (found.header !== undefined) {
    return { of: "header", queryId: found.header.queryId ?? "", columns: columnsOf(found.header.schema ?? "") };
  }
  if (found.continuationToken !== undefined) {
    return { of: "token", token: found.continuationToken.continuationToken ?? "" };
  }
  if (found.finalMessage !== undefined) return { of: "end", message: found.finalMessage };
  if (found.errorMessage !== undefined) {
    return { of: "error", message: found.errorMessage.message ?? "", code: found.errorMessage.error_code ?? 0 };
  }
  return { of: "nothing" };
}

/** Return the columns of a schema, such as "`ID` STRING KEY, `S` STRUCT<`A` INTEGER, `B` STRING>". */
export function columnsOf(schema: string): ResultColumn[] {
  const columns: ResultColumn[] = [];
  let at = 0;
  while (at < schema.length) {
    const open = schema.indexOf("`", at);
    if (open < 0) break;
    let close = open + 1;
    while (close < schema.length && (schema[close] !== "`" || schema[close + 1] === "`")) {
      close += schema[close] === "`" ? 2 : 1;
    }
    const name = schema.slice(open + 1, close).replaceAll("``", "`");
    const end = endOfType(schema, close + 1);
    const type = schema.slice(close + 1, end).trim();
    const key = / (?:PRIMARY )?KEY$/.test(type);
    columns.push({ name, type: type.replace(/ (?:PRIMARY )?KEY$/, ""), key });
    at = end + 1;
  }
  return columns;
}

function endOfType(schema: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < schema.length; at += 1) {
    const one = schema[at];
    if (one === "`") quoted = !quoted;
    else if (quoted) continue;
    else if (one === "<" || one === "(") depth += 1;
    else if (one === ">" || one === ")") depth -= 1;
    else if (one === "," && depth === 0) return at;
  }
  return schema.length;
}

export const PRINTED: readonly ResultColumn[] = [
  { name: "rowtime", type: "STRING", key: false },
  { name: "key", type: "STRING", key: true },
  { name: "value", type: "STRING", key: false },
  { name: "partition", type: "INTEGER", key: false },
];

/** Return a line of PRINT as cells; null for lines about formats. */
export function printedCells(line: string): string[] | null {
  const found = /^rowtime: (.*?), key: ([^]*?), value: ([^]*), partition: (\d+)$/.exec(line);
  if (found === null) return null;
  return [JSON.stringify(found[1]), JSON.stringify(found[2]), JSON.stringify(found[3]), found[4]!];
}

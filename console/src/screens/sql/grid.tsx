// The rows of a query as a table, and their export.
import { useMemo, useState } from "preact/hooks";
import { formatCount, formatTime, visible } from "../../lib/format";
import { plainText, startOf } from "../../lib/raw-json";
import { Dialog } from "../../parts/dialog";
import { copyText, Table, type Column } from "../../parts/table";
import { csvOf, download, jsonLinesOf } from "./export";
import type { ResultColumn, Row } from "./rows";
import { readsAll } from "./state";

const NO_ROWS =
  "No rows. A table that a query writes has only what the query has read: the records since its start, or all records if “Read streams from” was earliest.";
const CELL_MAX = 200;
const VALUE_MAX = 100_000;
const COLUMNS_MAX = 200;
const FEW = 12;
const TIMES = new Set(["ROWTIME", "WINDOWSTART", "WINDOWEND"]);
const NUMBERS = /^(?:INTEGER|BIGINT|DOUBLE|DECIMAL.*)$/;

export function Grid(props: { name: string; columns: readonly ResultColumn[]; rows: readonly Row[]; live: boolean }) {
  const [open, setOpen] = useState<Row | null>(null);
  const [from, setFrom] = useState(0);
  const shown = props.columns.slice(from, from + COLUMNS_MAX);
  const columns = useMemo(() => shown.map((one, at) => columnOf(one, from + at, props.live)), [props.columns, from, props.live]);
  return (
    <>
      {props.columns.length > COLUMNS_MAX && (
        <div class="row small">
          Columns {from + 1} to {Math.min(from + COLUMNS_MAX, props.columns.length)} of {props.columns.length}
          <button class="small" disabled={from === 0} onClick={() => setFrom(from - COLUMNS_MAX)}>
            Previous columns
          </button>
          <button
            class="small"
            disabled={from + COLUMNS_MAX >= props.columns.length}
            onClick={() => setFrom(from + COLUMNS_MAX)}
          >
            Next columns
          </button>
        </div>
      )}
      <div class="sql-grid" style={{ "--columns": shown.length }}>
        <Table
          caption={`Rows of ${props.name}`}
          columns={columns}
          rows={props.rows}
          rowKey={(row) => row.id}
          onOpen={setOpen}
          copy={(row) => jsonLinesOf(props.columns, [row]).trimEnd()}
          empty={props.live ? waiting() : NO_ROWS}
          // A live view keeps its height while rows arrive.
          {...(props.live || props.rows.length > FEW ? { height: "min(52vh, 560px)" } : {})}
        />
      </div>
      {open !== null && <RowDialog columns={props.columns} row={open} onClose={() => setOpen(null)} />}
    </>
  );
}

function waiting(): string {
  return readsAll() ? "No rows yet." : "No rows yet. To see records that exist already, set “Read streams from” to earliest.";
}

function columnOf(column: ResultColumn, at: number, live: boolean): Column<Row> {
  const numeric = NUMBERS.test(column.type);
  return {
    id: `${at}`,
    title: `${visible(column.name)} · ${column.type.length > 18 ? `${column.type.slice(0, 17)}…` : column.type}${column.key ? " key" : ""}`,
    cell: (row) => <Cell raw={row.cells[at] ?? "null"} column={column} tombstone={row.tombstone} />,
    number: numeric,
    // New rows come first in a live view; any other order would move them.
    ...(live ? {} : { sort: (a: Row, b: Row) => compare(a.cells[at] ?? "null", b.cells[at] ?? "null", numeric) }),
  };
}

function Cell(props: { raw: string; column: ResultColumn; tombstone: boolean }) {
  const { raw, column, tombstone } = props;
  if (raw === "null") return <span class="soft">{tombstone && !column.key ? "deleted" : "null"}</span>;
  const { text, cut } = startOf(raw, CELL_MAX);
  if (TIMES.has(column.name) && /^-?\d{1,16}$/.test(raw)) return <span title={raw}>{formatTime(raw)}</span>;
  return (
    <span title={cut ? `${formatCount(raw.length)} characters: open the row to see them` : undefined}>
      {visible(text)}
      {cut && "…"}
    </span>
  );
}

/** Compare two JSON texts: nulls last, numbers by their value. */
export function compare(a: string, b: string, numeric: boolean): number {
  if (a === "null" || b === "null") return Number(a === "null") - Number(b === "null");
  if (!numeric) return a < b ? -1 : a > b ? 1 : 0;
  const difference = Number(a) - Number(b);
  if (difference !== 0 || !/^-?\d+$/.test(a) || !/^-?\d+$/.test(b)) return difference;
  // Whole numbers that a double does not tell apart.
  return BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0;
}

function RowDialog(props: { columns: readonly ResultColumn[]; row: Row; onClose: () => void }) {
  const { row } = props;
  return (
    <Dialog
      title={row.tombstone ? `Row ${row.id}: deleted` : `Row ${row.id}`}
      reading
      wide
      onClose={props.onClose}
      actions={
        <>
          <button onClick={() => void copyText(jsonLinesOf(props.columns, [row]).trimEnd())}>Copy as JSON</button>
          <button class="primary" onClick={props.onClose}>
            Close
          </button>
        </>
      }
    >
      <dl class="facts sql-row">
        {props.columns.slice(0, 1000).map((column, at) => (
          <Value column={column} raw={row.cells[at] ?? "null"} key={at} />
        ))}
      </dl>
    </Dialog>
  );
}

function Value(props: { column: ResultColumn; raw: string }) {
  const { column, raw } = props;
  const { text, cut } = startOf(raw, VALUE_MAX);
  return (
    <>
      <dt>
        {visible(column.name)} <span class="small">{column.type}</span>
      </dt>
      <dd>
        <pre class="value" tabIndex={0} role="group" aria-label={`Value of ${column.name}`}>
          {visible(cut ? text : indented(raw))}
        </pre>
        {cut && (
          <p class="small">
            The first {formatCount(VALUE_MAX)} of {formatCount(raw.length)} characters.{" "}
            <button class="small" onClick={() => download(`${column.name}.txt`, "text/plain", [plainText(raw)])}>
              Download all
            </button>
          </p>
        )}
      </dd>
    </>
  );
}

/** Return a value with its members on lines of their own; numbers stay as they were written. */
export function indented(raw: string): string {
  if (raw.startsWith('"')) return plainText(raw);
  if (!raw.startsWith("{") && !raw.startsWith("[")) return raw;
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const part of raw.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:\s]+/g) ?? []) {
    if (part === "{" || part === "[") {
      depth += 1;
      out += part + line();
    } else if (part === "}" || part === "]") {
      depth -= 1;
      out = /[{[]\s*$/.test(out.slice(-200)) ? out.trimEnd() + part : out + line() + part;
    } else if (part === ",") out += part + line();
    else out += part === ":" ? ": " : part;
  }
  return out;
}

export function ExportButtons(props: { columns: readonly ResultColumn[]; rows: readonly Row[] }) {
  const { columns, rows } = props;
  const off = rows.length === 0;
  return (
    <>
      <button
        class="small"
        aria-label="Save the rows as CSV"
        disabled={off}
        onClick={() => download("rows.csv", "text/csv", csvOf(columns, rows))}
      >
        CSV
      </button>
      <button
        class="small"
        aria-label="Save the rows as JSONL"
        disabled={off}
        onClick={() => download("rows.jsonl", "application/x-ndjson", [jsonLinesOf(columns, rows)])}
      >
        JSONL
      </button>
      <button
        class="small"
        aria-label="Copy the rows"
        disabled={off}
        onClick={() => void copyText(csvOf(columns, rows).join(""))}>
        Copy
      </button>
    </>
  );
}

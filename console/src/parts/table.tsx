// A semantic table whose rows are made only while they are visible.
//
// Screen readers get the number of all rows (aria-rowcount) and the position of each. By keyboard:
// j and k or the arrows move the current row, Enter opens it, Home and End go to its ends, c copies
// the row as JSON. Widths of columns that the reader changes are kept in the browser.
import {
  Virtualizer,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { store, stored } from "../lib/format";
import { toast } from "../shell/toasts";

export interface Column<Row> {
  id: string;
  title: string;
  /** What the cell shows. */
  cell: (row: Row, index: number) => ComponentChildren;
  /** Sorting by this column; without it, the column has no button. */
  sort?: ((a: Row, b: Row) => number) | undefined;
  /** Width at first, in pixels; columns without one share the rest. */
  width?: number;
  /** Numbers are aligned to the right. */
  number?: boolean;
  /** Hidden on narrow screens; `very`: also on those of middle width. */
  wide?: boolean | "very";
}

export interface TableProps<Row> {
  /** What the table contains; read out, and shown if `captionShown`. */
  caption: string;
  captionShown?: boolean;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row, index: number) => string | number;
  /** Called for Enter and a click on a row. */
  onOpen?: (row: Row, index: number) => void;
  /** The row that is marked as open. */
  selected?: string | number | null;
  /** What the key c and the copy button of the browser's menu put on the clipboard. */
  copy?: (row: Row) => unknown;
  /** Shown in place of rows if there are none. */
  empty?: ComponentChildren;
  /** Name under which widths are kept; without it, they are not. */
  name?: string;
  /** Height of a row in pixels; rows have one line. */
  rowHeight?: number;
  /** Height of the table: a CSS length. By default as high as its rows, up to 70 % of the window. */
  height?: string;
  /** The column that is sorted first, with a minus for descending: `-lag`. */
  sorted?: string;
  onSort?: (sorted: string) => void;
}

// What a column without a width keeps; without it, those with one would take its place.
const WIDTH_MIN = 110;
const FIRST_WIDTH_MIN = 150;
const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 34;
const CAPTION_HEIGHT = 34;
const OVERSCAN = 12;

export function Table<Row>(props: TableProps<Row>) {
  const rowHeight = props.rowHeight ?? ROW_HEIGHT;
  const [sorted, setSorted] = useSorted(props);
  const rows = useMemo(() => inOrder(props.rows, props.columns, sorted), [props.rows, props.columns, sorted]);
  const [current, setCurrent] = useState(-1);
  const scroller = useRef<HTMLDivElement>(null);
  const { items, total, scrollTo } = useVirtual(scroller, rows.length, rowHeight);
  const [widths, setWidth] = useWidths(props.name);
  useEffect(() => {
    if (current >= rows.length) setCurrent(rows.length - 1);
  }, [rows.length]);

  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    if (rows.length === 0) return;
    setCurrent(next);
    scrollTo(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isInDialog(event.target)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target)) return;
    if (event.target instanceof HTMLElement && event.target !== scroller.current && event.key === "Enter") return;
    const row = rows[current];
    if (event.key === "j" || event.key === "ArrowDown") move(current + 1);
    else if (event.key === "k" || event.key === "ArrowUp") move(current - 1);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(rows.length - 1);
    else if (event.key === "PageDown") move(current + 10);
    else if (event.key === "PageUp") move(current - 10);
    else if (event.key === "Enter" && row !== undefined) props.onOpen?.(row, current);
    else if (event.key === "c" && row !== undefined) void copyRow(props, row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const before = items[0]?.start ?? 0;
  const after = total - (items[items.length - 1]?.end ?? 0);
  const above = HEAD_HEIGHT + (props.captionShown === true ? CAPTION_HEIGHT : 0);
  // Without a given height, the rows and their gaps make it, so that a scrollbar below them has room.
  const height =
    props.height === undefined ? { maxHeight: "70vh", minHeight: `${above + rowHeight}px` } : { height: props.height };
  const active = current >= 0 && items.some((one) => one.index === current);
  const id = useMemo(() => `table-${++tables}`, []);
  return (
    <div
      class="table"
      ref={scroller}
      style={rows.length === 0 ? {} : height}
      tabIndex={0}
      role="region"
      aria-label={props.caption}
      data-table=""
      data-current={active ? `${id}-${current}` : undefined}
      onKeyDown={onKeyDown}
    >
      <table
        aria-rowcount={rows.length + 1}
        class={rows.length === 0 ? "no-rows" : undefined}
        style={{
          "--least": leastWidth(props.columns, widths),
          "--least-middle": leastWidth(props.columns.filter((one) => one.wide !== "very"), widths),
          "--least-narrow": leastWidth(props.columns.filter((one) => !one.wide), widths),
        }}
      >
        <caption class={props.captionShown === true ? undefined : "hidden-text"}>{props.caption}</caption>
        <colgroup>
          {props.columns.map((column) => (
            <col
              key={column.id}
              class={wideClass(column) || undefined}
              style={widthOf(widths[column.id] ?? column.width)}
            />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1} onKeyDown={(event) => onHeadKey(event, props.columns, setWidth)}>
            {props.columns.map((column, index) => (
              <Head
                column={column}
                key={column.id}
                sorted={sorted}
                onSort={setSorted}
                onWidth={(width) => setWidth(column.id, width)}
                reachable={column.sort !== undefined || (index === 0 && props.columns.every((one) => one.sort === undefined))}
              />
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && <Gap height={before} />}
          {items.map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            const key = props.rowKey(row, item.index);
            return (
              <tr
                key={key}
                id={`${id}-${item.index}`}
                aria-rowindex={item.index + 2}
                aria-selected={props.selected === key ? true : undefined}
                class={rowClass(item.index === current, props.selected === key, props.onOpen !== undefined)}
                style={{ height: `${rowHeight}px` }}
                onClick={(event) => {
                  if (isInDialog(event.target)) return;
                  setCurrent(item.index);
                  if (!isInteractive(event.target) && !hasSelection()) props.onOpen?.(row, item.index);
                }}
              >
                {props.columns.map((column) => (
                  <td key={column.id} class={cellClass(column)}>
                    {column.cell(row, item.index)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && <Gap height={after} />}
        </tbody>
      </table>
      {rows.length === 0 && <div class="table-empty">{props.empty ?? "Nothing here yet."}</div>}
      <Spoken
        row={active ? `${id}-${current}` : ""}
        columns={props.columns}
        position={`row ${current + 1} of ${rows.length}`}
      />
    </div>
  );
}

let tables = 0;

/** Read the current row out when it becomes another one; not when its cells change, as figures often do. */
function Spoken<Row>(props: { row: string; columns: readonly Column<Row>[]; position: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const cells = document.getElementById(props.row)?.querySelectorAll("td") ?? [];
    setText(cells.length === 0 ? "" : `${spokenText([...cells], props.columns)}; ${props.position}`);
  }, [props.row]);
  return (
    <span class="hidden-text" role="status">
      {text}
    </span>
  );
}

const SPOKEN_CELLS = 3;
const SPOKEN_CHARACTERS = 80;

/** Return the first cells that are shown, with the titles of their columns; a name needs none. */
function spokenText<Row>(cells: readonly HTMLTableCellElement[], columns: readonly Column<Row>[]): string {
  const found: string[] = [];
  for (const [index, cell] of cells.entries()) {
    const text = readText(cell);
    if (cell.getClientRects().length === 0 || text === "") continue;
    const short = text.length > SPOKEN_CHARACTERS ? `${text.slice(0, SPOKEN_CHARACTERS)}…` : text;
    const column = columns[index];
    const isName = index === 0 && column?.number !== true;
    found.push(isName || column === undefined ? short : `${column.title} ${short}`);
    if (found.length === SPOKEN_CELLS) break;
  }
  return found.join(", ");
}

function Head<Row>(props: {
  column: Column<Row>;
  sorted: string;
  onSort: (sorted: string) => void;
  onWidth: (width: number) => void;
  /** Whether it is in the order of Tab; the arrows reach the others. */
  reachable: boolean;
}) {
  const { column, sorted } = props;
  const direction = sorted === column.id ? "ascending" : sorted === `-${column.id}` ? "descending" : "none";
  const cell = useRef<HTMLTableCellElement>(null);
  const drag = (event: PointerEvent) => {
    event.preventDefault();
    const handle = event.currentTarget as HTMLElement;
    const start = event.clientX;
    const width = cell.current?.offsetWidth ?? 100;
    handle.setPointerCapture(event.pointerId);
    const onMove = (moved: PointerEvent) => props.onWidth(Math.max(LEAST_WIDTH, width + moved.clientX - start));
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", onMove), { once: true });
  };
  return (
    <th scope="col" ref={cell} class={cellClass(column)} aria-sort={column.sort === undefined ? undefined : direction}>
      {column.sort === undefined ? (
        <span class="head-text" tabIndex={props.reachable ? 0 : -1} data-head="">
          {column.title}
        </span>
      ) : (
        <button
          class="head-text"
          data-head=""
          onClick={() => props.onSort(direction === "ascending" ? `-${column.id}` : column.id)}
        >
          {column.title}
          <span aria-hidden="true">{direction === "ascending" ? " ▲" : direction === "descending" ? " ▼" : ""}</span>
        </button>
      )}
      <span class="resize" aria-hidden="true" onPointerDown={drag} />
    </th>
  );
}

/** Return the text of a cell without signs that are for the eye only. */
function readText(cell: HTMLElement): string {
  let text = cell.innerText;
  for (const sign of cell.querySelectorAll('[aria-hidden="true"]')) text = text.replace(sign.textContent ?? "", " ");
  return text.replace(/\s+/g, " ").trim();
}

const LEAST_WIDTH = 40;
const WIDTH_STEP = 20;

/** Move between the heads of columns by arrows; with Shift, change the width of the column. */
function onHeadKey<Row>(
  event: KeyboardEvent,
  columns: readonly Column<Row>[],
  setWidth: (id: string, width: number) => void,
): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const heads = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-head]")];
  const at = heads.findIndex((one) => one === event.target);
  const column = columns[at];
  if (column === undefined) return;
  const cell = heads[at]!.closest("th")!;
  // Columns that a narrow screen hides have no boxes.
  const shown = heads.filter((one) => one.getClientRects().length > 0);
  if (event.shiftKey) setWidth(column.id, Math.max(LEAST_WIDTH, cell.offsetWidth + step * WIDTH_STEP));
  else shown[shown.indexOf(heads[at]!) + step]?.focus();
  event.preventDefault();
  event.stopPropagation();
}

// One cell only: cells in hidden columns would make room for columns that are not there.
function Gap(props: { height: number }) {
  return (
    <tr aria-hidden="true" class="gap">
      <td style={{ height: `${props.height}px` }} />
    </tr>
  );
}

/** Return the visible rows of a scrolled element. */
function useVirtual(
  scroller: { current: HTMLDivElement | null },
  count: number,
  rowHeight: number,
): { items: VirtualItem[]; total: number; scrollTo: (index: number) => void } {
  const [, render] = useReducer((n: number) => n + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    scrollPaddingStart: HEAD_HEIGHT,
    initialRect: { width: 800, height: 600 },
    onChange: () => render(undefined as never),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return {
    items: virtualizer.getVirtualItems(),
    total: virtualizer.getTotalSize(),
    scrollTo: (index) => virtualizer.scrollToIndex(index, { align: "auto" }),
  };
}

function useSorted<Row>(props: TableProps<Row>): [string, (sorted: string) => void] {
  const [own, setOwn] = useState(props.sorted ?? "");
  // With onSort, the caller keeps the order, for instance in the address.
  if (props.onSort !== undefined) return [props.sorted ?? "", props.onSort];
  return [own, setOwn];
}

function inOrder<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sorted: string): readonly Row[] {
  const down = sorted.startsWith("-");
  const compare = columns.find((one) => one.id === sorted.replace(/^-/, ""))?.sort;
  if (compare === undefined) return rows;
  return [...rows].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
}

function useWidths(name: string | undefined): [Record<string, number>, (id: string, width: number) => void] {
  const key = `duolog.widths.${name}`;
  const [widths, setWidths] = useState<Record<string, number>>(() => (name === undefined ? {} : read(key)));
  const set = (id: string, width: number) => {
    setWidths((known) => {
      const next = { ...known, [id]: width };
      if (name !== undefined) store(key, JSON.stringify(next));
      return next;
    });
  };
  return [widths, set];
}

function read(key: string): Record<string, number> {
  try {
    const found = JSON.parse(stored(key, "{}")) as unknown;
    const pairs = Object.entries(found as object).filter(([, value]) => typeof value === "number");
    return Object.fromEntries(pairs) as Record<string, number>;
  } catch {
    return {};
  }
}

async function copyRow<Row>(props: TableProps<Row>, row: Row): Promise<void> {
  const value = props.copy === undefined ? row : props.copy(row);
  await copyText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

/** Put a text on the clipboard and say so. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser does not permit to copy here", "bad");
  }
}

function widthOf(width: number | undefined): Record<string, string> {
  return width === undefined ? {} : { width: `${width}px` };
}

/** Return the width below which a table is scrolled sideways. */
function leastWidth<Row>(columns: readonly Column<Row>[], widths: Record<string, number>): string {
  const of = (column: Column<Row>, index: number) =>
    widths[column.id] ?? column.width ?? (index === 0 ? FIRST_WIDTH_MIN : WIDTH_MIN);
  return `${columns.reduce((sum, column, index) => sum + of(column, index), 0)}px`;
}

function cellClass<Row>(column: Column<Row>): string | undefined {
  const found = [column.number === true && "number", wideClass(column)].filter(Boolean).join(" ");
  return found === "" ? undefined : found;
}

function wideClass<Row>(column: Column<Row>): string {
  return column.wide === "very" ? "wide very" : column.wide === true ? "wide" : "";
}

function rowClass(current: boolean, selected: boolean, opens: boolean): string | undefined {
  const found = [current && "current", selected && "selected", opens && "opens"].filter(Boolean).join(" ");
  return found === "" ? undefined : found;
}

function isInteractive(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, input, select, textarea, label") !== null;
}

// The dialog of a button in a row is within the row.
function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("dialog") !== null;
}

function isEditable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, [contenteditable]") !== null;
}

function hasSelection(): boolean {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.toString() !== "";
}

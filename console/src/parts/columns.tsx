// Columns that many tables have: names, texts and figures, each with its order.
import type { ComponentChildren } from "preact";
import { compareNumbers } from "../lib/compare";
import { visible } from "../lib/format";
import { Link, type Query } from "../shell/router";
import type { Column } from "./table";

type More<Row> = Partial<Omit<Column<Row>, "id" | "title">>;

/** The name of a row, as a link to its screen. */
export function nameColumn<Row>(
  id: string,
  title: string,
  of: (row: Row) => string,
  to: (row: Row) => string,
  more: More<Row> & { query?: (row: Row) => Query; after?: (row: Row) => ComponentChildren } = {},
): Column<Row> {
  const { query, after, ...rest } = more;
  return {
    id,
    title,
    cell: (row) => (
      <>
        <Link to={to(row)} query={query?.(row) ?? {}}>
          {visible(of(row))}
        </Link>
        {after !== undefined && <> {after(row)}</>}
      </>
    ),
    sort: (a, b) => of(a).localeCompare(of(b)),
    ...rest,
  };
}

/** A text, in the order of the alphabet. */
export function textColumn<Row>(
  id: string,
  title: string,
  of: (row: Row) => string,
  more: More<Row> = {},
): Column<Row> {
  return { id, title, cell: (row) => visible(of(row)), sort: (a, b) => of(a).localeCompare(of(b)), ...more };
}

/** A number, in the order of its value; `more.cell` replaces what `format` makes of it. */
export function figureColumn<Row>(
  id: string,
  title: string,
  width: number,
  of: (row: Row) => number | string | null | undefined,
  format: (value: number | string) => string,
  more: More<Row> = {},
): Column<Row> {
  return {
    id,
    title,
    width,
    number: true,
    cell: (row) => {
      const value = of(row);
      return value === null || value === undefined ? <Unknown /> : format(value);
    },
    sort: (a, b) => compareNumbers(of(a), of(b)),
    ...more,
  };
}

/** A value that the server does not know. */
export function Unknown() {
  return (
    <>
      <span aria-hidden="true">–</span>
      <span class="hidden-text">unknown</span>
    </>
  );
}

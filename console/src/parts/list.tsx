// What the lists of screens share: filters and order in the address, how many are shown, the wait, the error.
import type { ComponentChildren } from "preact";
import { formatCount, visible } from "../lib/format";
import type { Loaded } from "../lib/load";
import { queryOf, setQuery } from "../shell/router";
import { ErrorPanel, Waiting } from "./empty";
import { Checkbox, Field, Select } from "./field";

/** The heading of a screen, with what can be done on it. */
export function Head(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="row ends">
      <h1>{props.title}</h1>
      {props.children !== undefined && <div class="row">{props.children}</div>}
    </div>
  );
}

/** The filters, and below them what was loaded; before that the wait, or the error. */
export function List<T>(props: {
  loaded: Loaded<T>;
  filters?: ComponentChildren;
  /** Next to the filters: how many there are. */
  count?: (data: T) => string;
  /** What the server could not read, although it has answered. */
  problems?: (data: T) => readonly string[];
  /** Shown while the first answer is awaited. */
  waiting?: string;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, reload } = props.loaded;
  return (
    <>
      {props.filters !== undefined && (
        <div class="row bottom" role="search">
          {props.filters}
          <p class="soft small push-right" role="status">
            {data === null ? "" : props.count?.(data)}
          </p>
        </div>
      )}
      {error !== null && <ErrorPanel error={error} onRetry={reload} />}
      {data !== null &&
        props.problems?.(data).map((problem) => (
          <div class="error-panel" key={problem} role="alert">
            {visible(problem)}
          </div>
        ))}
      {data === null ? error === null && <Waiting text={props.waiting} /> : props.children(data)}
    </>
  );
}

/** `3 of 40 groups`; `40 groups` if all are shown. */
export function countText(shown: number, all: number, one: string, several: string): string {
  const noun = all === 1 ? one : several;
  return shown === all ? `${formatCount(all)} ${noun}` : `${formatCount(shown)} of ${formatCount(all)} ${noun}`;
}

// A filter begins at the first page again.
const FIRST_PAGE = { offset: null, after: null };

/** A search whose text is in the address. */
export function SearchField(props: { name?: string; label?: string; placeholder?: string }) {
  const name = props.name ?? "q";
  return (
    <Field
      label={props.label ?? "Search"}
      type="search"
      search
      value={queryOf(name)}
      onInput={(value) => setQuery({ ...FIRST_PAGE, [name]: value })}
      {...(props.placeholder === undefined ? {} : { placeholder: props.placeholder })}
    />
  );
}

/** A choice in the address; the first one filters nothing. */
export function FilterChoice(props: {
  name: string;
  label: string;
  all: string;
  options: readonly (string | { value: string; label: string })[];
}) {
  return (
    <Select
      label={props.label}
      value={queryOf(props.name)}
      onChange={(value) => setQuery({ ...FIRST_PAGE, [props.name]: value })}
      options={[{ value: "", label: props.all }, ...props.options]}
    />
  );
}

/** A switch in the address; off by default. */
export function FilterSwitch(props: { name: string; label: string }) {
  return (
    <Checkbox
      label={props.label}
      checked={isOn(props.name)}
      onChange={(on) => setQuery({ ...FIRST_PAGE, [props.name]: on ? "true" : null })}
    />
  );
}

/** Return whether a switch of the address is on. */
export function isOn(name: string): boolean {
  return queryOf(name) === "true";
}

/** Return the order of a table, which the address keeps; for the table's properties. */
export function orderIn(name: string, otherwise = ""): { sorted: string; onSort: (sorted: string) => void } {
  return { sorted: queryOf(name, otherwise), onSort: (sorted) => setQuery({ [name]: sorted }) };
}

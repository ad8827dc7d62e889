// The results of statements, one tab each; the newest is shown.
import { useEffect, useState } from "preact/hooks";
import { formatCount, formatDuration, formatRate, visible } from "../../lib/format";
import { Badge, type Tone } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { EntityView } from "./entities";
import { ExportButtons, Grid } from "./grid";
import type { QueryState, RunningQuery } from "./query";
import { closeResult, type Result } from "./runner";
import { results, shownResult } from "./state";

const SPOKEN_MS = 3000;
const TITLE_MAX = 42;

export function Results() {
  const all = results.value;
  const shown = all.find((one) => one.id === shownResult.value) ?? all[0];
  if (shown === undefined) {
    return (
      <Empty title="No results yet">
        <p>
          Write a statement and press <kbd>Ctrl</kbd> <kbd>Enter</kbd>. A query with EMIT CHANGES shows rows as they
          arrive; one without returns the rows of now and ends.
        </p>
      </Empty>
    );
  }
  return (
    <div class="stack">
      {all.length > 1 && <Tabs all={all} shown={shown} />}
      <One result={shown} key={shown.id} />
    </div>
  );
}

function Tabs(props: { all: readonly Result[]; shown: Result }) {
  const move = (event: KeyboardEvent, at: number) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = props.all[at + step];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    shownResult.value = next.id;
    (event.currentTarget as HTMLElement).parentElement?.querySelectorAll<HTMLElement>("[role=tab]")[at + step]?.focus();
  };
  return (
    <div class="sql-tabs sql-runs" role="tablist" aria-label="Results">
      {props.all.map((one, at) => (
        <button
          key={one.id}
          role="tab"
          aria-selected={one.id === props.shown.id}
          tabIndex={one.id === props.shown.id ? 0 : -1}
          onClick={() => (shownResult.value = one.id)}
          onKeyDown={(event) => move(event, at)}
        >
          {one.running && <span aria-label="running">●</span>}
          {one.error !== null && <span aria-label="failed">✕</span>}
          <span class="mono">{titleOf(one.sql)}</span>
        </button>
      ))}
    </div>
  );
}

function One(props: { result: Result }) {
  const { result } = props;
  const { query, error } = result;
  return (
    <section class="stack sql-result" aria-label="Result">
      <div class="row ends">
        <code class="sql-statement break">{titleOf(result.sql, 200)}</code>
        <button class="small" onClick={() => closeResult(result)}>
          {result.running ? "Stop and close" : "Close"}
        </button>
      </div>
      {result.entities.map((one, at) => (
        <EntityView entity={one} key={at} />
      ))}
      {result.message !== "" && (
        <p role="status">
          <Badge tone="good">Done</Badge> {result.message}
        </p>
      )}
      {result.note !== "" && <p class="sql-note">{result.note}</p>}
      {error !== null && <ErrorPanel error={error} />}
      {query === null && result.running && <Waiting text="Running…" />}
      {query !== null && (query.columns.length > 0 || error === null) && <Query query={query} name={titleOf(result.sql)} />}
    </section>
  );
}

function Query(props: { query: RunningQuery; name: string }) {
  const { query } = props;
  const live = query.kind !== "pull";
  return (
    <>
      <div class="row sql-figures">
        <StateBadge state={query.state} />
        <Figures query={query} />
        <span class="grow" />
        {live && query.state === "running" && (
          <button class="small" onClick={() => query.pause()}>
            Pause
          </button>
        )}
        {live && query.state === "paused" && (
          <button class="small primary" onClick={() => query.resume()}>
            Continue
          </button>
        )}
        {query.live && (
          <button class="small danger" onClick={() => void query.cancel()}>
            Cancel
          </button>
        )}
        {live && (
          <button class="small" onClick={() => query.clear()} disabled={query.rows.length === 0}>
            Clear
          </button>
        )}
        <ExportButtons columns={query.columns} rows={query.rows} />
      </div>
      <Spoken query={query} />
      {query.message !== "" && <p class="soft small">{visible(query.message)}</p>}
      {query.cut && (
        <p class="sql-warning">
          <Badge tone="warn">Cut off</Badge> Only the first {formatCount(query.rows.length)} rows are shown. Add a
          condition or LIMIT, or permit more rows.
        </p>
      )}
      {query.columns.length > 0 && <Grid name={props.name} columns={query.columns} rows={query.rows} live={live} />}
    </>
  );
}

const TONES: Record<QueryState, Tone> = {
  starting: "info",
  running: "good",
  paused: "warn",
  reconnecting: "warn",
  done: "plain",
  cancelled: "plain",
  failed: "bad",
};

function StateBadge(props: { state: QueryState }) {
  return <Badge tone={TONES[props.state]}>{props.state}</Badge>;
}

function Figures(props: { query: RunningQuery }) {
  const { query } = props;
  const took = (query.endedAt ?? performance.now()) - query.startedAt;
  const live = query.kind !== "pull";
  return (
    <span class="soft small sql-counts">
      <span data-count="received">{rowsText(query.received)}</span>
      {live && query.live && <span data-count="rate">{formatRate(Math.round(query.perSecond))}</span>}
      {!query.live && <span>{formatDuration(took)}</span>}
      {query.skipped > 0 && (
        <span data-count="skipped" title="They came faster than this view shows rows. Export them with another client, or add a condition.">
          {formatCount(query.skipped)} not shown
        </span>
      )}
      {query.dropped > 0 && <span data-count="dropped">{formatCount(query.dropped)} older left the view</span>}
    </span>
  );
}

/** Says the number of rows to screen readers, not more often than they can listen. */
function Spoken(props: { query: RunningQuery }) {
  const { query } = props;
  const [text, setText] = useState("");
  useEffect(() => {
    const say = () => setText(`${query.state}: ${rowsText(query.received)}`);
    say();
    if (!query.live) return undefined;
    const timer = setInterval(say, SPOKEN_MS);
    return () => clearInterval(timer);
  }, [query, query.state]);
  return (
    <span class="hidden-text" role="status">
      {text}
    </span>
  );
}

function rowsText(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "row" : "rows"}`;
}

function titleOf(sql: string, most = TITLE_MAX): string {
  const line = visible(sql.replace(/\s+/g, " ").trim());
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

// The results of statements, one tab each; the newest is shown.
import { formatCount, formatDuration, formatRate, visible } from "../../lib/format";
import { Badge, type Tone } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Spoken } from "../../parts/spoken";
import { Tabs } from "../../parts/tabs";
import { EntityView } from "./entities";
import { ExportButtons, Grid } from "./grid";
import type { QueryState, RunningQuery } from "./query";
import { closeResult, type Result } from "./runner";
import { results, shownResult } from "./state";

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
      <Tabs
        label="Results"
        class="sql-runs"
        tabs={all.map((one) => ({ id: String(one.id), label: <ResultTitle result={one} /> }))}
        shown={String(shown.id)}
        onShow={(id) => (shownResult.value = all.find((one) => String(one.id) === id)?.id ?? shownResult.value)}
        hideOne
      >
        <One result={shown} key={shown.id} />
      </Tabs>
    </div>
  );
}

function ResultTitle(props: { result: Result }) {
  const { result } = props;
  return (
    <>
      {result.running && <Sign sign="●" text="running" />}
      {result.error !== null && <Sign sign="✕" text="failed" />}
      <span class="mono">{titleOf(result.sql)}</span>
    </>
  );
}

function Sign(props: { sign: string; text: string }) {
  return (
    <>
      <span aria-hidden="true">{props.sign}</span>
      <span class="hidden-text">{props.text} </span>
    </>
  );
}

function One(props: { result: Result }) {
  const { result } = props;
  const { query, error } = result;
  return (
    // It takes the focus of buttons that go away, such as that for cancelling.
    <section class="stack sql-result" aria-label="Result" tabIndex={-1}>
      <div class="row ends">
        <code class="sql-statement break">{titleOf(result.sql, 200)}</code>
        <button class="small" onClick={() => closeResult(result)}>
          {result.running ? "Stop and close" : "Close"}
        </button>
      </div>
      <span class="hidden-text" role="status">
        {!result.running && result.error === null && result.entities.length > 0 && "Done: the answer is below."}
      </span>
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
        {live && (query.state === "running" || query.state === "paused") && (
          // One button: it keeps the focus when it is pressed.
          <button
            class={query.state === "paused" ? "small primary" : "small"}
            onClick={() => (query.state === "paused" ? query.resume() : query.pause())}
          >
            {query.state === "paused" ? "Continue" : "Pause"}
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
      <Spoken state={query.state} text={rowsText(query.received)} />
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

function rowsText(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "row" : "rows"}`;
}

function titleOf(sql: string, most = TITLE_MAX): string {
  const line = visible(sql.replace(/\s+/g, " ").trim());
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

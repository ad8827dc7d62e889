// The overview: what runs on this server; for a server without streams and tables, the first steps.
import { useState } from "preact/hooks";
import { get, post } from "../../lib/api";
import { formatCount, formatDuration, formatRate, store, stored } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { countText } from "../../parts/list";
import { FirstSteps } from "./first";
import { figuresOf, hasSources, isNew, type Figures, type Lineage, type Query } from "./figures";
import { Demo } from "./demo";
import { queryOf, setQuery } from "../../shell/router";
import { LinkIf } from "./links";
import { QueryTable } from "./queries";

interface Info {
  KsqlServerInfo: { version: string; kafkaClusterId: string; ksqlServiceId: string; serverStatus: string };
}

const EVERY_MS = 3000;

export default function Start() {
  const info = useLoad("info", (signal) => get<Info>("/info", { signal }));
  const lineage = useLoad("lineage", (signal) => get<Lineage>("/v1/lineage", { signal }), undefined, ["catalog"]);
  const queries = useLoad("queries", (signal) => get<{ queries: Query[] }>("/v1/queries", { signal }), EVERY_MS, [
    "queries",
    "catalog",
  ]);
  const topics = useLoad("topics", readTopics, undefined, ["topics"]);
  const error = lineage.error ?? queries.error ?? topics.error;
  const known = lineage.data !== null && queries.data !== null && topics.data !== null;
  const found = queries.data?.queries ?? [];
  const about = info.data?.KsqlServerInfo;
  return (
    <div class="stack">
      <div class="row ends">
        <h1>Overview</h1>
        <span class="soft small">
          {about && `Duolog ${about.version} · cluster ${about.kafkaClusterId} · service ${about.ksqlServiceId}`}
        </span>
      </div>
      {error !== null && error.status !== 0 && (
        <ErrorPanel
          error={error}
          onRetry={() => {
            lineage.reload();
            queries.reload();
            topics.reload();
          }}
        />
      )}
      {!known && error === null && <Waiting />}
      {known && isNew(lineage.data!, topics.data!.length) ? (
        <FirstSteps title="There is nothing here yet. Where do you want to start?" />
      ) : (
        known && (
          <>
            <Demo />
            <NextSteps hasSources={hasSources(lineage.data!)} />
            <Numbers figures={figuresOf(lineage.data!, found, topics.data!.length)} />
            <div class="stack">
              <h2>Persistent queries</h2>
              <QueryTable queries={found} />
            </div>
          </>
        )
      )}
    </div>
  );
}

const HIDDEN = "duolog.steps.hidden";

/** The first steps while there are topics only, and whenever the reader asks for them. */
function NextSteps(props: { hasSources: boolean }) {
  const [hidden, setHidden] = useState(stored(HIDDEN, "") === "true");
  const asked = queryOf("steps") === "true";
  if (!asked && (hidden || props.hasSources)) return null;
  const hide = () => {
    setHidden(true);
    store(HIDDEN, "true");
    setQuery({ steps: null });
  };
  return <FirstSteps title={asked ? "First steps" : "What next?"} onHide={hide} />;
}

function Numbers(props: { figures: Figures }) {
  const { topics, streams, tables, states, lagRecords, lagMs, errors, rate } = props.figures;
  const running = states.map(([state, count]) => `${count} ${state.toLowerCase()}`).join(", ");
  return (
    <div class="panels numbers">
      <Number label="Topics" to="/topics" value={formatCount(topics)} />
      <Number label="Streams and tables" to="/streams" value={formatCount(streams + tables)} note={`${countText(streams, streams, "stream", "streams")}, ${countText(tables, tables, "table", "tables")}`} />
      <Number label="Persistent queries" to="/queries" value={formatCount(states.reduce((sum, [, n]) => sum + n, 0))} note={running} />
      <Number label="Records read" to="/queries" value={formatRate(rate) || "–"} />
      <Number
        label="Unread records"
        to="/queries"
        value={lagRecords === null ? "–" : formatCount(lagRecords)}
        note={lagMs === null || lagRecords === 0 ? "" : `the oldest is ${formatDuration(lagMs)} old`}
      />
      <Number label="Errors" to="/dead-letters" value={formatCount(errors)} tone={errors > 0 ? "bad" : undefined} />
    </div>
  );
}

function Number(props: { label: string; value: string; note?: string; to: string; tone?: "bad" | undefined }) {
  return (
    <div class="panel number-panel">
      <div class="soft small">{props.label}</div>
      <div class={props.tone === "bad" ? "big bad" : "big"}>
        <LinkIf to={props.to} label={`${props.label}: ${props.value}`}>
          {props.value}
        </LinkIf>
      </div>
      <div class="soft small">{props.note || " "}</div>
    </div>
  );
}

// SHOW TOPICS leaves out internal topics, and those that the reader may not describe.
async function readTopics(signal: AbortSignal): Promise<string[]> {
  const answer = await post<{ topics: { name: string }[] }[]>("/ksql", { ksql: "SHOW TOPICS;" }, { signal });
  return (answer[0]?.topics ?? []).map((one) => one.name);
}

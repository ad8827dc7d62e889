// One persistent query: its figures and charts, its plan as graph and list, its statement and settings.
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Badge, toneOf } from "../../parts/badge";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { Link, navigate, pathOf, queryOf, type ScreenProps } from "../../shell/router";
import { QueryActions } from "../queries/actions";
import type { QueryDetail } from "../queries/figures";
import { Figures } from "./figures";
import { Plan } from "./plan";
import { QueryProblem } from "./problem";
import { Statement } from "./statement";

const EVERY_MS = 5000;
const TABS = { figures: "Figures", plan: "Plan", statement: "Statement and settings" } as const;
type Tab = keyof typeof TABS;

export default function QueryScreen({ params }: ScreenProps) {
  const id = params["query"]!;
  const loaded = useLoad(
    id,
    (signal) =>
      getFigures<QueryDetail>(`/v1/queries/${encodeURIComponent(id)}`, { query: { history: "all" }, signal }),
    EVERY_MS,
  );
  const query = loaded.data;
  const wanted = queryOf("tab", "figures");
  const tab: Tab = wanted in TABS ? (wanted as Tab) : "figures";
  return (
    <div class="stack">
      <div class="row ends">
        <h1>{id}</h1>
        {query !== null && (
          <QueryActions
            query={query}
            onDone={(verb) => (verb === "TERMINATE" ? navigate("/queries") : loaded.reload())}
          />
        )}
      </div>
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {query === null ? loaded.error === null && <Waiting /> : <Facts query={query} />}
      {query !== null && <QueryProblem query={query} />}
      {query !== null && (
        <>
          <nav class="tabs" aria-label="Parts of the query">
            {(Object.keys(TABS) as Tab[]).map((one) => (
              <Link
                key={one}
                to={pathOf("/queries/:query", { query: id })}
                query={{ tab: one === "figures" ? null : one }}
                current={tab === one}
              >
                {TABS[one]}
              </Link>
            ))}
          </nav>
          {tab === "figures" && <Figures query={query} />}
          {tab === "plan" && <Plan steps={query.plan} />}
          {tab === "statement" && <Statement query={query} />}
        </>
      )}
    </div>
  );
}

function Facts({ query }: { query: QueryDetail }) {
  return (
    <dl class="facts panel">
      <dt>State</dt>
      <dd>
        <Badge tone={toneOf(query.state)}>{query.state}</Badge>
      </dd>
      <dt>Reads</dt>
      <dd class="row">
        {query.sources.map((one) => (
          <Link key={one} to={pathOf("/streams/:source", { source: one })}>
            {one}
          </Link>
        ))}
      </dd>
      <dt>Writes</dt>
      <dd class="row">
        <Link to={pathOf("/streams/:source", { source: query.sink })}>{query.sink}</Link>
        <span class="soft">in topic</span>
        <Link to={pathOf("/topics/:topic", { topic: query.topic })}>{query.topic}</Link>
      </dd>
      <dt>Runs on</dt>
      <dd>
        {query.server === "" ? "no known server" : `${query.server}, in the JVM group ${query.jvmGroup}`}
      </dd>
      <dt>Lineage</dt>
      <dd>
        <Link to="/lineage" query={{ around: `query:${query.id}` }}>
          Show it in the lineage
        </Link>
      </dd>
    </dl>
  );
}

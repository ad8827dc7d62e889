// The plan of a statement: EXPLAIN as a tree and as text, and the lineage of what it reads and writes.
import { useState } from "preact/hooks";
import { ApiError, asApiError, get } from "../../lib/api";
import { visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Graph, type GraphNode } from "../../parts/graph";
import { quoted } from "./catalog";
import { Members } from "./entities";
import { explain, type Entity } from "./runner";

export interface Step {
  name: string;
  kind: string;
  parents: string[];
}

/** Return the steps in the text of a plan: ` > [ Kind ] | name <- parent, parent`. */
export function stepsOf(plan: string): Step[] {
  const steps: Step[] = [];
  for (const line of plan.split("\n")) {
    const found = /^ > \[ (\S+) \] \| (.*?)(?: <- (.*))?$/.exec(line);
    if (found === null) continue;
    steps.push({ kind: found[1]!, name: found[2]!, parents: found[3] === undefined ? [] : found[3].split(", ") });
  }
  return steps;
}

export function ExplainView(props: { sql: string; onOpen: (name: string) => void }) {
  const { data, error, loading } = useLoad(`explain ${props.sql}`, () => explained(props.sql));
  const [asText, setAsText] = useState(false);
  if (props.sql === "") return <Empty title="No statement">Put the cursor into a query, and choose Explain.</Empty>;
  if (error !== null) return <ErrorPanel error={error} />;
  if (data === null) return loading ? <Waiting text="Planning…" /> : null;
  const plan = String(data["executionPlan"] ?? "");
  const steps = stepsOf(plan);
  const names = [...listed(data["sources"]), ...listed(data["sinks"])];
  const { executionPlan: _plan, topology: _topology, statementText: _text, fields: _fields, ...facts } = data;
  return (
    <div class="stack">
      <div class="row">
        <button class="small" aria-pressed={!asText} onClick={() => setAsText(false)}>
          Tree
        </button>
        <button class="small" aria-pressed={asText} onClick={() => setAsText(true)}>
          Text
        </button>
      </div>
      {asText || steps.length === 0 ? (
        <pre class="value" tabIndex={0} aria-label="Plan as text">
          {visible(plan)}
        </pre>
      ) : (
        <Graph
          label="Steps of the plan, in the order of the records"
          nodes={steps.map((one): GraphNode => ({ id: one.name, label: one.kind, note: one.name }))}
          edges={steps.flatMap((one) => one.parents.map((parent) => ({ from: parent, to: one.name })))}
        />
      )}
      <Members of={facts} title="Query" />
      {names.length > 0 && <Lineage names={names} onOpen={props.onOpen} />}
    </div>
  );
}

async function explained(sql: string): Promise<Entity | null> {
  if (sql === "") return null;
  try {
    const found = await explain(sql);
    if (found === null) throw new ApiError("This statement has no plan", 400, 0, "", "Only queries have one.");
    return found;
  } catch (error) {
    throw asApiError(error);
  }
}

interface LineageJson {
  sources: { name: string; type: string }[];
  queries: { id: string }[];
  topics: { name: string }[];
  edges: { from: string; to: string; recordsPerSecond?: number | null }[];
}

function Lineage(props: { names: readonly string[]; onOpen: (name: string) => void }) {
  const name = props.names[0]!;
  const { data, error } = useLoad(
    `lineage ${name}`,
    (signal) => get<LineageJson>(`/v1/lineage/${encodeURIComponent(name)}`, { query: { rates: true }, signal }),
    5000,
  );
  return (
    <section class="stack" aria-label="Lineage">
      <h2>Lineage of {visible(name)}</h2>
      {error !== null && <ErrorPanel error={error} />}
      {data === null ? (
        <Waiting />
      ) : (
        <Graph
          label={`Lineage of ${name}`}
          nodes={nodesOf(data)}
          edges={data.edges.map((one) => ({
            ...one,
            live: (one.recordsPerSecond ?? 0) > 0,
            label: one.recordsPerSecond ? `${one.recordsPerSecond.toFixed(1)}/s` : undefined,
          }))}
          selected={`source:${name}`}
          onOpen={(id) => props.onOpen(quoted(id.slice(id.indexOf(":") + 1)))}
        />
      )}
    </section>
  );
}

function nodesOf(lineage: LineageJson): GraphNode[] {
  return [
    ...lineage.sources.map(
      (one): GraphNode => ({ id: `source:${one.name}`, label: one.name, kind: one.type === "TABLE" ? "table" : "stream" }),
    ),
    ...lineage.queries.map((one): GraphNode => ({ id: `query:${one.id}`, label: one.id, kind: "query" })),
    ...lineage.topics.map((one): GraphNode => ({ id: `topic:${one.name}`, label: one.name, kind: "topic" })),
  ];
}

function listed(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

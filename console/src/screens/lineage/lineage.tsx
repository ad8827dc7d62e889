// The graph of the whole application: topics, streams, tables and queries, with live rates.
import { formatCount } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Graph, type GraphEdge, type GraphNode } from "../../parts/graph";
import { Select } from "../../parts/field";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { drawn, type ApplicationGraph } from "./application";

const EVERY_MS = 5000;
const LIMITS = ["50", "100", "200"];

export default function Lineage() {
  const [around, limit] = [queryOf("around"), queryOf("limit", "200")];
  const loaded = useLoad(
    `${around} ${limit}`,
    (signal) =>
      getFigures<ApplicationGraph>("/v1/graph", { query: { around: around === "" ? undefined : around, limit }, signal }),
    EVERY_MS,
  );
  const graph = loaded.data;
  const { nodes, edges } = graph === null ? { nodes: [], edges: [] } : drawn(graph);
  return (
    <div class="stack">
      <div class="row ends">
        <h1>Lineage</h1>
        <Legend />
      </div>
      <Choice around={around} limit={limit} nodes={nodes} />
      {graph !== null && graph.leftOut > 0 && (
        <p class="soft" role="status">
          {formatCount(graph.leftOut)} more {graph.leftOut === 1 ? "node is" : "nodes are"} left out. Choose a node to see
          what is around it.
        </p>
      )}
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {graph === null && loaded.error === null && <Waiting />}
      {graph !== null && nodes.length === 0 && <NoGraph />}
      {nodes.length > 0 && (
        <Graph
          label="Graph of the application"
          nodes={nodes}
          edges={edges}
          selected={around === "" ? null : around}
          onOpen={(id) => navigate(pathOfNode(id))}
        />
      )}
      {nodes.length > 0 && <AsList nodes={nodes} edges={edges} />}
    </div>
  );
}

/** Return the screen of a node: of its topic, its stream or table, or its query. */
function pathOfNode(id: string): string {
  const at = id.indexOf(":");
  const [kind, name] = [id.slice(0, at), id.slice(at + 1)];
  if (kind === "query") return pathOf("/queries/:query", { query: name });
  if (kind === "topic") return pathOf("/topics/:topic", { topic: name });
  return pathOf("/streams/:source", { source: name });
}

function Choice(props: { around: string; limit: string; nodes: readonly GraphNode[] }) {
  const names = props.nodes.map((one) => one.id);
  const options = [
    { value: "", label: "the whole application" },
    ...(props.around === "" || names.includes(props.around) ? [] : [{ value: props.around, label: props.around }]),
    ...names.map((id) => ({ value: id, label: id.replace(/^source:/, "").replace(":", " ") })),
  ];
  return (
    <div class="row bottom">
      <Select
        label="Show what leads to and follows"
        value={props.around}
        onChange={(around) => setQuery({ around }, { replace: false })}
        options={options}
      />
      <Select
        label="At most"
        value={props.limit}
        onChange={(limit) => setQuery({ limit: limit === "200" ? null : limit })}
        options={LIMITS.map((one) => ({ value: one, label: `${one} nodes` }))}
      />
    </div>
  );
}

function Legend() {
  return (
    <p class="row small soft legend" aria-label="Legend">
      <span class="key topic">topic</span>
      <span class="key stream">stream</span>
      <span class="key table">table</span>
      <span class="key query">query</span>
      <span>dashes move while records flow</span>
    </p>
  );
}

/** The same as text, for screen readers and for those who prefer it. */
function AsList(props: { nodes: readonly GraphNode[]; edges: readonly GraphEdge[] }) {
  const labels = new Map(props.nodes.map((one) => [one.id, `${one.kind} ${one.label}`]));
  return (
    <details>
      <summary>The graph as a list</summary>
      <ul>
        {props.nodes.map((node) => {
          const to = props.edges.filter((one) => one.from === node.id);
          return (
            <li key={node.id}>
              <Link to={pathOfNode(node.id)}>
                {node.kind} {node.label}
              </Link>
              {node.note !== undefined && node.note !== "" && <span class="soft"> {node.note}</span>}
              {to.length > 0 && (
                <span>
                  {" leads to "}
                  {to.map((one) => `${labels.get(one.to) ?? one.to}${one.label ? ` (${one.label})` : ""}`).join(", ")}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

function NoGraph() {
  return (
    <Empty title="There is nothing to draw yet">
      <p>Streams, tables and the queries between them appear here, with the records that flow each second.</p>
      <p>
        <Link to="/sql" class="button primary">
          Open the SQL editor
        </Link>
      </p>
    </Empty>
  );
}


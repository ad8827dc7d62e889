// The plan of a query: its steps as a graph, and as a list.
import { Graph, type GraphNode } from "../../parts/graph";
import { Table, type Column } from "../../parts/table";
import { queryOf, setQuery } from "../../shell/router";
import type { Step } from "../queries/figures";

export function Plan({ steps }: { steps: readonly Step[] }) {
  const selected = queryOf("step");
  const nodes: GraphNode[] = steps.map((one) => ({
    id: one.name,
    label: one.name,
    note: one.kind,
    kind: one.stores.length > 0 ? "table" : "plain",
  }));
  const edges = steps.flatMap((one) => one.reads.map((from) => ({ from, to: one.name })));
  const columns: Column<Step>[] = [
    { id: "name", title: "Step", width: 230, cell: (row) => row.name },
    { id: "does", title: "What it does", cell: (row) => <span title={row.does}>{row.does}</span> },
    { id: "reads", title: "Reads", width: 220, wide: true, cell: (row) => row.reads.join(", ") },
    { id: "stores", title: "Stores", width: 220, wide: true, cell: (row) => row.stores.join(", ") },
  ];
  const open = steps.find((one) => one.name === selected);
  return (
    <div class="stack">
      <Graph
        label="Plan of the query"
        nodes={nodes}
        edges={edges}
        selected={selected === "" ? null : selected}
        onOpen={(step) => setQuery({ step })}
      />
      {open !== undefined && (
        <section class="panel" aria-live="polite" aria-label={`Step ${open.name}`}>
          <h2>{open.name}</h2>
          <p class="break">{open.does}</p>
          <p class="soft small">
            {open.kind}
            {open.reads.length > 0 && `; reads ${open.reads.join(", ")}`}
            {open.stores.length > 0 && `; keeps ${open.stores.join(", ")}`}
          </p>
        </section>
      )}
      <Table
        caption="Steps, each after those whose records it reads"
        captionShown
        columns={columns}
        rows={steps}
        rowKey={(row) => row.name}
        selected={selected}
        onOpen={(row) => setQuery({ step: row.name })}
      />
    </div>
  );
}

// A page with the shared parts alone, for tests/console/test_parts.py.
import { signal } from "@preact/signals";
import { render } from "preact";
import { useState } from "preact/hooks";
import { Chart } from "../src/parts/chart";
import { Confirm, Dialog } from "../src/parts/dialog";
import { ActionButton, Field } from "../src/parts/field";
import { Graph } from "../src/parts/graph";
import { Table, type Column } from "../src/parts/table";
import { startTheme } from "../src/shell/theme";
import { Toasts } from "../src/shell/toasts";
import { keepFocus } from "../src/lib/focus";
import { visible } from "../src/lib/format";

interface Row {
  n: number;
  text: string;
}

const COLUMNS: Column<Row>[] = [
  { id: "n", title: "Number", width: 90, number: true, cell: (row) => row.n, sort: (a, b) => a.n - b.n },
  { id: "text", title: "Text", cell: (row) => visible(row.text) },
  { id: "more", title: "More", wide: true, cell: () => <span aria-hidden="true">sign</span> },
  { id: "state", title: "State", width: 110, cell: (row) => <Removal row={row} /> },
];

/** A button of a row, whose dialog removes the row. */
function Removal({ row }: { row: Row }) {
  const [asked, setAsked] = useState(false);
  return (
    <>
      <button onClick={() => setAsked(true)}>Remove {row.n}</button>
      {asked && (
        <Confirm
          title="Remove the row?"
          action="Remove row"
          onClose={() => setAsked(false)}
          onConfirm={async () => void (rows.value = rows.value.filter((one) => one !== row))}
        >
          <p>The row goes away.</p>
        </Confirm>
      )}
    </>
  );
}

const rows = signal<Row[]>([]);
const log: string[] = [];

function Page() {
  const [dialog, setDialog] = useState("");
  const [name, setName] = useState("");
  return (
    <main>
      <h1>Parts</h1>
      <Table
        caption="Rows"
        name="parts"
        columns={COLUMNS}
        rows={rows.value}
        rowKey={(row) => row.n}
        onOpen={(row) => log.push(`open ${row.n}`)}
        empty={<p>No rows.</p>}
      />
      <Graph
        label="Lineage"
        nodes={[
          { id: "a", label: "ORDERS", kind: "stream" },
          { id: "q", label: "CTAS_1", kind: "query", note: "12/s" },
          { id: "b", label: "TOTALS", kind: "table", tone: "bad" },
        ]}
        edges={[
          { from: "a", to: "q", live: true },
          { from: "q", to: "b", label: "3/s" },
          { from: "b", to: "gone" },
        ]}
        onOpen={(id) => log.push(`node ${id}`)}
      />
      <Chart
        label="Rate"
        times={[1_700_000_000_000, 1_700_000_001_000]}
        series={[{ label: "read", values: [1, 4] }]}
        format={(value) => `${value}/s`}
      />
      <Field label="Name" value={name} onInput={setName} hint="Letters" error={name === "x" ? "Too short" : ""} search />
      <ActionButton onClick={() => log.push("acted")} reason={name === "" ? "Enter a name first." : ""}>
        Act
      </ActionButton>
      <button onClick={() => setDialog("plain")}>Show</button>
      <button onClick={() => setDialog("confirm")}>Delete</button>
      {dialog === "plain" && (
        <Dialog title="Plain" onClose={() => setDialog("")}>
          <button>Inner</button>
        </Dialog>
      )}
      {dialog === "confirm" && (
        <Confirm
          title="Delete the topic?"
          action="Delete topic"
          danger
          typed="orders"
          onClose={() => setDialog("")}
          onConfirm={async () => {
            log.push("confirmed");
            if (log.filter((one) => one === "confirmed").length === 1) throw new Error("the broker refuses");
          }}
        />
      )}
      <Toasts />
    </main>
  );
}

Object.assign(window, {
  log,
  setRows: (count: number, text = "row") => {
    rows.value = Array.from({ length: count }, (_, n) => ({ n, text: `${text} ${n}` }));
  },
});
startTheme();
keepFocus();
render(<Page />, document.getElementById("app")!);

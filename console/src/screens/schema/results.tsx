// The answers about a draft: what each version has against it, and the readers that it would break.
import type { ComponentChildren } from "preact";
import { formatCount, visible } from "../../lib/format";
import { Badge, type Tone } from "../../parts/badge";
import { Table, type Column } from "../../parts/table";
import type { Checked, Impact, Message } from "./api";

type Compared = Checked["versions"][number];
type Reader = Impact["readers"][number];

const TONES: Record<string, Tone> = { safe: "good", breaks: "bad", unknown: "warn" };
const READERS: Column<Reader>[] = [
  { id: "verdict", title: "Verdict", width: 110, cell: (row) => <Verdict of={row.verdict} /> },
  { id: "kind", title: "Kind", width: 110, cell: (row) => row.kind, sort: (a, b) => a.kind.localeCompare(b.kind) },
  { id: "name", title: "Name", cell: (row) => visible(row.name), sort: (a, b) => a.name.localeCompare(b.name) },
  { id: "reads", title: "Reads", cell: (row) => visible(row.reads), wide: true },
  {
    id: "reasons",
    title: "Reasons",
    cell: (row) => {
      const text = row.reasons.map((one) => (one.path === "" ? one.text : `${one.path}: ${one.text}`)).join("; ");
      return <span title={visible(text)}>{visible(text)}</span>;
    },
  },
];

export function CheckResult(props: { result: Checked }) {
  const { result } = props;
  return (
    <section class="panel stack" aria-label="Result of the check">
      <div class="row">
        <h2 class="flat">Check</h2>
        <Badge tone={result.compatible ? "good" : "bad"}>{result.compatible ? "compatible" : "not compatible"}</Badge>
        {result.known !== null && <span>This is version {result.known} already.</span>}
      </div>
      <Messages of={result.messages} />
      {result.versions.length === 0 ? (
        <p class="flat soft">The subject has no versions yet, so the draft is compatible.</p>
      ) : (
        <ul class="plain-list">
          {result.versions.map((one) => (
            <li key={one.version}>
              <VersionResult of={one} />
            </li>
          ))}
        </ul>
      )}
      {result.versionsLeftOut > 0 && (
        <p class="flat soft">{result.versionsLeftOut} older versions were not compared one by one.</p>
      )}
    </section>
  );
}

function VersionResult(props: { of: Compared }) {
  const one = props.of;
  return (
    <>
      <div class="row">
        <span>Version {one.version}</span>
        <Badge tone={one.compatible ? "good" : "warn"}>{one.compatible ? "compatible" : "not compatible"}</Badge>
      </div>
      <Messages of={one.messages} />
    </>
  );
}

function Messages(props: { of: readonly Message[] }) {
  if (props.of.length === 0) return null;
  return (
    <ul class="reasons">
      {props.of.map((one) => (
        <li key={`${one.type}\n${one.path}\n${one.description}`}>
          {visible(one.description)}
          {one.path !== null && (
            <Note>
              at <code>{visible(one.path)}</code>
            </Note>
          )}
          {one.type !== null && <Note>{one.type}</Note>}
        </li>
      ))}
    </ul>
  );
}

function Note(props: { children: ComponentChildren }) {
  return <span class="soft small"> {props.children}</span>;
}

export function ImpactResult(props: { result: Impact }) {
  const { verdict, topics, readers, records, notes } = props.result;
  return (
    <section class="panel stack" aria-label="Impact">
      <div class="row">
        <h2 class="flat">Impact</h2>
        <Verdict of={verdict} />
        <span class="soft">
          {topics.length > 0 && `Topics: ${topics.map(visible).join(", ")}. `}
          {formatCount(records.read)} of the last records were read with the draft, {formatCount(records.broken.length)}{" "}
          cannot be read.
        </span>
      </div>
      <Table
        caption="Readers of the subject"
        columns={READERS}
        rows={readers}
        rowKey={(row) => `${row.kind}\n${row.service ?? ""}\n${row.name}`}
        empty="Nothing that you have the right to see reads this subject."
      />
      {records.broken.length > 0 && (
        <ul class="reasons">
          {records.broken.slice(0, 20).map((one) => (
            <li key={`${one.topic}\n${one.partition}\n${one.offset}`}>
              {visible(one.topic)}, partition {one.partition}, offset {one.offset}: {visible(one.reason)}
            </li>
          ))}
        </ul>
      )}
      {notes.map((one) => (
        <p class="flat soft" key={one}>
          {visible(one)}
        </p>
      ))}
    </section>
  );
}

function Verdict(props: { of: string }) {
  return <Badge tone={TONES[props.of] ?? "plain"}>{props.of}</Badge>;
}

// Streams and tables with their columns; a click inserts a name at the cursor.
import { useState } from "preact/hooks";
import { get, post } from "../../lib/api";
import { visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { Field } from "../../parts/field";
import { typeText } from "./entities";
import { catalogChanges } from "./state";

interface Source {
  name: string;
  type: string;
  topics: string[];
}

interface SourceField {
  name: string;
  type?: string;
  schema?: Record<string, unknown>;
}

const SHOWN_MAX = 300;
const EVERY_MS = 15_000;

export function CatalogTree(props: { onInsert: (text: string) => void; onRun: (sql: string) => void }) {
  const lineage = useLoad(
    `catalog ${catalogChanges.value}`,
    (signal) => get<{ sources: Source[] }>("/v1/lineage", { signal }),
    EVERY_MS,
  );
  const [search, setSearch] = useState("");
  const wanted = search.trim().toUpperCase();
  const all = lineage.data?.sources ?? [];
  const found = all.filter((one) => one.name.toUpperCase().includes(wanted));
  return (
    <div class="stack sql-catalog">
      <Field label="Search streams and tables" labelHidden value={search} onInput={setSearch} type="search" placeholder="Search" search />
      {lineage.error && <ErrorPanel error={lineage.error} onRetry={lineage.reload} />}
      {lineage.data === null && lineage.error === null && <Waiting />}
      {lineage.data !== null && all.length === 0 && (
        <p class="soft small">
          No streams or tables yet. A statement such as <code>CREATE STREAM s (id STRING KEY, n INT) WITH
          (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);</code> declares one over a topic.
        </p>
      )}
      {["STREAM", "TABLE"].map((type) => {
        const some = found.filter((one) => one.type === type);
        return some.length === 0 ? null : (
          <section key={type}>
            <h2>{type === "STREAM" ? "Streams" : "Tables"}</h2>
            <ul class="sql-tree">
              {some.slice(0, SHOWN_MAX).map((one) => (
                <SourceItem source={one} key={one.name} {...props} />
              ))}
            </ul>
            {some.length > SHOWN_MAX && <p class="soft small">{some.length - SHOWN_MAX} more: search for them.</p>}
          </section>
        );
      })}
    </div>
  );
}

function SourceItem(props: { source: Source; onInsert: (text: string) => void; onRun: (sql: string) => void }) {
  const { name } = props.source;
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div class="row sql-source">
        <button
          class="plain small"
          aria-expanded={open}
          aria-label={`Columns of ${name}`}
          onClick={() => setOpen(!open)}
        >
          <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        </button>
        <button class="plain small mono grow" title={`Insert ${name}`} onClick={() => props.onInsert(quoted(name))}>
          {visible(name)}
        </button>
        <button
          class="small"
          aria-label={`Query ${name}`}
          title="Insert a query of it"
          onClick={() => props.onRun(queryOf(props.source))}
        >
          Query
        </button>
      </div>
      {open && <Columns name={name} onInsert={props.onInsert} />}
    </li>
  );
}

function Columns(props: { name: string; onInsert: (text: string) => void }) {
  const { data, error } = useLoad(`describe ${props.name} ${catalogChanges.value}`, async (signal) => {
    const ksql = `DESCRIBE ${quoted(props.name)};`;
    const [entity] = await post<{ sourceDescription: { fields: SourceField[] } }[]>("/ksql", { ksql }, { signal });
    return entity?.sourceDescription.fields ?? [];
  });
  if (error !== null) return <ErrorPanel error={error} />;
  if (data === null) return <Waiting />;
  return (
    <ul class="sql-columns">
      {data.slice(0, SHOWN_MAX).map((one) => (
        <li key={one.name}>
          <button class="plain small mono" title={`Insert ${one.name}`} onClick={() => props.onInsert(quoted(one.name))}>
            {visible(one.name)}
          </button>
          <span class="soft small">
            {typeText(one.schema)}
            {one.type === "KEY" ? " key" : ""}
          </span>
        </li>
      ))}
      {data.length > SHOWN_MAX && <li class="soft small">{data.length - SHOWN_MAX} more</li>}
    </ul>
  );
}

function queryOf(source: Source): string {
  return source.type === "TABLE"
    ? `SELECT * FROM ${quoted(source.name)} LIMIT 100;`
    : `SELECT * FROM ${quoted(source.name)} EMIT CHANGES;`;
}

/** Return a name as statements write it. */
export function quoted(name: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : `\`${name}\``;
}

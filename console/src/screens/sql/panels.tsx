// The panels at the side: session, history, saved queries.
import { useEffect, useState } from "preact/hooks";
import { get } from "../../lib/api";
import { formatTime, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Field, Select } from "../../parts/field";
import { isSecret } from "./secrets";
import {
  OFFSET_RESET,
  forgetPast,
  limits,
  past,
  properties,
  save,
  saved,
  serverStart,
  setValue,
  text,
  unsave,
  variables,
} from "./state";

const KNOWN = [
  OFFSET_RESET,
  "ksql.query.pull.consistency",
  "ksql.query.pull.staleness.ms.max",
  "ksql.query.pull.rows.max",
  "ksql.query.pull.timeout.ms",
  "processing.guarantee",
  "ksql.output.topic.name.prefix",
  "ksql.persistence.default.format.value",
  "ksql.persistence.default.format.key",
  "errors.dead.letter.queue.topic.name",
  "ksql.compatibility",
];

/** Where push queries and persistent ones start to read. */
export function StartSelect() {
  const start = useLoad("server's start", readServerStart);
  useEffect(() => {
    if (start.data !== null) serverStart.value = start.data;
  }, [start.data]);
  return (
    <Select
      label="Read streams from"
      value={properties.value[OFFSET_RESET] ?? ""}
      options={[
        { value: "", label: `default${serverStart.value === "" ? "" : `: ${serverStart.value}`}` },
        { value: "earliest", label: "earliest: all records" },
        { value: "latest", label: "latest: new records" },
      ]}
      onChange={(value) => setValue("property", OFFSET_RESET, value === "" ? null : value)}
    />
  );
}

async function readServerStart(signal: AbortSignal): Promise<string> {
  const query = { of: "server", search: OFFSET_RESET };
  const found = await get<{ settings: { name: string; value: string | null }[] }>("/v1/settings", { query, signal });
  return found.settings.find((one) => one.name === OFFSET_RESET)?.value ?? "";
}

export function SessionPanel() {
  return (
    <div class="stack">
      <StartSelect />
      <Select
        label="Rows in the view"
        value={String(limits.value.rows)}
        options={["1000", "10000", "50000"]}
        onChange={(value) => (limits.value = { ...limits.value, rows: Number(value) })}
        hint="For the next query."
      />
      <Select
        label="New rows per second"
        value={String(limits.value.rate)}
        options={["10", "50", "200"]}
        onChange={(value) => (limits.value = { ...limits.value, rate: Number(value) })}
        hint="A faster stream shows its newest rows; the others are counted."
      />
      <Values of="property" title="Properties" values={properties.value} known={KNOWN} />
      <Values of="variable" title="Variables" values={variables.value} known={[]} />
    </div>
  );
}

function Values(props: {
  of: "property" | "variable";
  title: string;
  values: Record<string, string>;
  known: readonly string[];
}) {
  const [name, setName] = useState("");
  const [value, setNewValue] = useState("");
  const [error, setError] = useState("");
  const entries = Object.entries(props.values).sort(([a], [b]) => a.localeCompare(b));
  const add = async () => {
    const wrong = await problemOf(props.of, name.trim());
    setError(wrong);
    if (wrong !== "") return;
    setValue(props.of, props.of === "variable" ? name.trim().toUpperCase() : name.trim(), value);
    setName("");
    setNewValue("");
  };
  return (
    <section class="stack" aria-label={props.title}>
      <h2>{props.title}</h2>
      {entries.length === 0 && (
        <p class="soft small">
          {props.of === "property"
            ? "None. SET 'name' = 'value'; sets one, too."
            : "None. DEFINE name = 'value'; sets one; ${name} in a statement is replaced."}
        </p>
      )}
      {entries.map(([one, of]) => (
        <div class="row sql-value" key={one}>
          <code class="grow break">
            {visible(one)} = {isSecret(one) ? "[hidden]" : visible(of)}
          </code>
          <button class="small" aria-label={`Remove ${one}`} onClick={() => setValue(props.of, one, null)}>
            ×
          </button>
        </div>
      ))}
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Field label={`Name of a ${props.of}`} value={name} onInput={setName} list={props.known} error={error} mono />
        <Field label={`Value of the ${props.of}`} value={value} onInput={setNewValue} mono type={isSecret(name) ? "password" : "text"} />
        <button class="small" type="submit" disabled={name.trim() === ""}>
          Set the {props.of}
        </button>
      </form>
    </section>
  );
}

async function problemOf(of: "property" | "variable", name: string): Promise<string> {
  if (of === "variable") {
    return /^[A-Za-z_]\w*$/.test(name) ? "" : "Use letters, digits and underscores; the first is not a digit.";
  }
  try {
    await get(`/is_valid_property/${encodeURIComponent(name)}`);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function HistoryPanel(props: { onOpen: (sql: string) => void }) {
  const [search, setSearch] = useState("");
  const found = past.value.filter((one) => one.sql.toLowerCase().includes(search.toLowerCase()));
  return (
    <div class="stack">
      <Field label="Search the history" labelHidden placeholder="Search" type="search" value={search} onInput={setSearch} />
      {past.value.length === 0 && <p class="soft small">Statements that you run are listed here, in this browser only.</p>}
      <ul class="sql-list">
        {found.map((one) => (
          <li key={`${one.atMs} ${one.sql}`}>
            <button class="plain mono" title="Open in the editor" onClick={() => props.onOpen(one.sql)}>
              {visible(one.sql.slice(0, 300))}
            </button>
            <span class="soft small">
              {formatTime(one.atMs)} {one.failed && <Badge tone="bad">failed</Badge>}
            </span>
          </li>
        ))}
      </ul>
      {past.value.length > 0 && (
        <button class="small" onClick={forgetPast}>
          Delete the history
        </button>
      )}
    </div>
  );
}

export function SavedPanel(props: { onOpen: (sql: string) => void }) {
  const [name, setName] = useState("");
  const taken = saved.value.some((one) => one.name === name.trim());
  return (
    <div class="stack">
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === "") return;
          save(name.trim(), text.value);
          setName("");
        }}
      >
        <Field label="Name for the text in the editor" value={name} onInput={setName} hint="Kept in this browser, without secrets." />
        <button class="small" type="submit" disabled={name.trim() === ""}>
          {taken ? "Replace the saved text" : "Save the text"}
        </button>
      </form>
      {saved.value.length === 0 && <p class="soft small">Nothing saved yet.</p>}
      <ul class="sql-list">
        {saved.value.map((one) => (
          <li key={one.name}>
            <div class="row">
              <button class="plain grow" title="Open in the editor" onClick={() => props.onOpen(one.sql)}>
                {visible(one.name)}
              </button>
              <button class="small" aria-label={`Delete ${one.name}`} onClick={() => unsave(one.name)}>
                ×
              </button>
            </div>
            <span class="soft small mono">{visible(one.sql.replace(/\s+/g, " ").slice(0, 90))}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

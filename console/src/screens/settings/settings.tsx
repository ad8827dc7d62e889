// Settings of brokers, topics and the SQL server: what is default, what is not, and changes.
import { useState } from "preact/hooks";
import { get, post } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Checkbox, Field, Select } from "../../parts/field";
import { Pager } from "../../parts/pager";
import { Table, type Column } from "../../parts/table";
import { queryOf, setQuery } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { SettingDialog } from "./setting-dialog";
import { choiceOf, choices, shownValue, type Kinds, type Setting } from "./values";

interface Answer {
  settings: Setting[];
  total: number;
  mayChange: boolean;
}

const LIMIT = 500;
const COLUMNS: Column<Setting>[] = [
  { id: "name", title: "Setting", cell: (row) => <code title={visible(row.name)}>{visible(row.name)}</code>, sort: (a, b) => a.name.localeCompare(b.name) },
  {
    id: "value",
    title: "Value",
    cell: (row) => {
      const text = shownValue(row, row.value);
      return <span title={text}>{row.changed ? <strong>{text}</strong> : text}</span>;
    },
  },
  {
    id: "source",
    title: "Set by",
    width: 140,
    wide: true,
    cell: (row) => <Badge tone={row.changed ? "info" : "plain"}>{row.source}</Badge>,
    sort: (a, b) => a.source.localeCompare(b.source),
  },
  { id: "default", title: "Default", wide: true, cell: (row) => shownValue(row, row.default) },
];

export default function Settings() {
  const kinds = useLoad("kinds", (signal) => get<Kinds>("/v1/settings", { signal }));
  const found = kinds.data;
  return (
    <div class="stack">
      <h1>Settings</h1>
      {kinds.error && <ErrorPanel error={kinds.error} onRetry={kinds.reload} />}
      {found === null && kinds.error === null && <Waiting />}
      {found !== null && <Chosen kinds={found} />}
    </div>
  );
}

function Chosen(props: { kinds: Kinds }) {
  const options = choices(props.kinds);
  const { of, name } = choiceOf(props.kinds, queryOf("of"), queryOf("name"));
  const [topic, setTopic] = useState(of === "topic" ? name : "");
  const changed = queryOf("changed") === "true";
  const search = queryOf("search");
  return (
    <>
      <div class="row bottom">
        <Select
          label="Settings of"
          value={of === "broker" ? `broker ${name}` : of}
          onChange={(value) => {
            const [kind = "", rest = ""] = value.split(/ (.*)/, 2);
            setQuery({ of: kind, name: kind === "topic" ? topic : rest, offset: "", setting: "" }, { replace: false });
          }}
          options={options}
        />
        {of === "topic" && (
          <form
            class="row bottom"
            onSubmit={(event) => {
              event.preventDefault();
              setQuery({ of, name: topic, offset: "" }, { replace: false });
            }}
          >
            <Field label="Topic" value={topic} onInput={setTopic} required mono />
            <button type="submit">Show</button>
          </form>
        )}
        <Field
          label="Search names and documentation"
          type="search"
          search
          value={search}
          onInput={(value) => setQuery({ search: value, offset: "" })}
        />
        <Checkbox
          label="Only values that are not the default"
          checked={changed}
          onChange={(value) => setQuery({ changed: value ? "true" : "", offset: "" })}
        />
      </div>
      {of === "topic" && name === "" ? (
        <Empty title="Name a topic">
          <p>Its settings are shown here, with those that it inherits from the broker.</p>
        </Empty>
      ) : (
        <List of={of} name={name} search={search} changed={changed} key={`${of}\n${name}`} />
      )}
    </>
  );
}

function List(props: { of: string; name: string; search: string; changed: boolean }) {
  const { of, name, search, changed } = props;
  const offset = Number(queryOf("offset", "0")) || 0;
  const answer = useLoad(JSON.stringify([of, name, search, changed, offset]), (signal) =>
    get<Answer>("/v1/settings", { query: { of, name, search, changed, offset, limit: LIMIT }, signal }),
  );
  const found = answer.data;
  const open = found?.settings.find((one) => one.name === queryOf("setting"));
  const close = () => setQuery({ setting: "" });
  return (
    <>
      {answer.error && <ErrorPanel error={answer.error} onRetry={answer.reload} />}
      {found === null && answer.error === null && <Waiting />}
      {found !== null && (
        <>
          <p class="flat soft" role="status">
            {formatCount(found.total)} found. Open one to read its documentation
            {found.mayChange ? " or to change it." : "."}
          </p>
          <Table
            caption="Settings"
            name="settings"
            columns={COLUMNS}
            rows={found.settings}
            rowKey={(row) => row.name}
            onOpen={(row) => setQuery({ setting: row.name }, { replace: false })}
            selected={open?.name ?? null}
            empty={<Empty title={changed ? "All settings have their defaults" : "No setting matches"} />}
          />
          <Pager offset={offset} limit={LIMIT} total={found.total} onMove={(to) => setQuery({ offset: to || "" })} />
        </>
      )}
      {open !== undefined && (
        <SettingDialog
          setting={open}
          of={of}
          name={name}
          mayChange={found?.mayChange === true}
          onClose={close}
          onChange={async (value, at) => {
            await post<unknown>("/v1/settings", { of, name: at, changes: { [open.name]: value } });
            toast(value === null ? `Reset ${open.name}` : `Changed ${open.name}`);
            answer.reload();
            close();
          }}
        />
      )}
    </>
  );
}

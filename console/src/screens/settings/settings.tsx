// Settings of brokers, topics and the SQL server: what is default, what is not, and changes.
import { useState } from "preact/hooks";
import { get, post } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { Field, Select } from "../../parts/field";
import { FilterSwitch, Head, List, SearchField, isOn } from "../../parts/list";
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
  textColumn("name", "Setting", (row) => row.name, {
    cell: (row) => <code title={visible(row.name)}>{visible(row.name)}</code>,
  }),
  {
    id: "value",
    title: "Value",
    cell: (row) => {
      const text = shownValue(row, row.value);
      return <span title={text}>{row.changed ? <strong>{text}</strong> : text}</span>;
    },
  },
  textColumn("source", "Set by", (row) => row.source, {
    width: 140,
    wide: true,
    cell: (row) => <Badge tone={row.changed ? "info" : "plain"}>{row.source}</Badge>,
  }),
  { id: "default", title: "Default", wide: true, cell: (row) => shownValue(row, row.default) },
];

export default function Settings() {
  const kinds = useLoad("kinds", (signal) => get<Kinds>("/v1/settings", { signal }));
  return (
    <div class="stack">
      <Head title="Settings" />
      <List loaded={kinds}>{(found) => <Chosen kinds={found} />}</List>
    </div>
  );
}

function Chosen(props: { kinds: Kinds }) {
  const options = choices(props.kinds);
  const { of, name } = choiceOf(props.kinds, queryOf("of"), queryOf("name"));
  const [topic, setTopic] = useState(of === "topic" ? name : "");
  const changed = isOn("changed");
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
        <SearchField name="search" label="Search names and documentation" />
        <FilterSwitch name="changed" label="Only values that are not the default" />
      </div>
      {of === "topic" && name === "" ? (
        <Empty title="Name a topic">
          <p>Its settings are shown here, with those that it inherits from the broker.</p>
        </Empty>
      ) : (
        <Shown of={of} name={name} search={search} changed={changed} key={`${of}\n${name}`} />
      )}
    </>
  );
}

function Shown(props: { of: string; name: string; search: string; changed: boolean }) {
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
      <List loaded={answer}>
        {(data) => (
          <>
            <p class="flat soft" role="status">
              {formatCount(data.total)} found. Open one to read its documentation
              {data.mayChange ? " or to change it." : "."}
            </p>
            <Table
              caption="Settings"
              name="settings"
              columns={COLUMNS}
              rows={data.settings}
              rowKey={(row) => row.name}
              onOpen={(row) => setQuery({ setting: row.name }, { replace: false })}
              selected={open?.name ?? null}
              empty={<Empty title={changed ? "All settings have their defaults" : "No setting matches"} />}
            />
            <Pager offset={offset} limit={LIMIT} total={data.total} onMove={(to) => setQuery({ offset: to || "" })} />
          </>
        )}
      </List>
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

// The settings of a topic: what is default and what is not, and changes.
import { useMemo, useState } from "preact/hooks";
import { request } from "../../lib/api";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/dialog";
import { ActionButton, Checkbox, Field } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { queryOf, setQuery } from "../../shell/router";
import { amountOf, hintOf, lowers } from "./amounts";
import { meaning } from "../settings/values";
import { toast } from "../../shell/toasts";
import type { Config, Topic } from "./model";

export function Settings(props: { topic: Topic; reload: () => void }) {
  const { topic, reload } = props;
  const search = queryOf("setting");
  const changed = queryOf("changed") === "true";
  const [edited, setEdited] = useState<Config | null>(null);
  const rows = useMemo(
    () => (topic.configs ?? []).filter((one) => one.name.includes(search.toLowerCase()) && (!changed || one.source === "topic")),
    [topic, search, changed],
  );
  if (topic.configs === null) return <p>You have no right to see the settings of this topic: DescribeConfigs on topic {topic.name}.</p>;
  const reason = topic.may.alterConfigs ? "" : `You have no right to change settings: AlterConfigs on topic ${topic.name}.`;
  const columns: Column<Config>[] = [
    { id: "name", title: "Setting", cell: (row) => row.name },
    {
      id: "value",
      title: "Value",
      cell: (row) => (
        <>
          <span class="mono">{row.sensitive ? "hidden" : (row.value ?? "null")}</span>{" "}
          <span class="soft">{row.sensitive ? "" : meaning(row.name, row.value)}</span>
        </>
      ),
    },
    { id: "source", title: "Set by", width: 120, wide: true, cell: (row) => <Badge tone={row.source === "topic" ? "info" : "plain"}>{row.source}</Badge> },
    {
      id: "change",
      title: "Change",
      width: 110,
      cell: (row) => (
        <ActionButton class="small" onClick={() => setEdited(row)} reason={row.read_only ? "This setting cannot be changed." : reason}>
          Change<span class="hidden-text"> {row.name}</span>
        </ActionButton>
      ),
    },
  ];
  return (
    <div class="stack">
      <div class="row bottom">
        <Field label="Search settings" type="search" search value={search} onInput={(setting) => setQuery({ setting })} />
        <Checkbox label="Only those set for this topic" checked={changed} onChange={(on) => setQuery({ changed: on ? "true" : null })} />
      </div>
      <Table caption="Settings" name="settings" columns={columns} rows={rows} rowKey={(row) => row.name} rowHeight={34} onOpen={(row) => reason === "" && !row.read_only && setEdited(row)} empty={<p>No setting matches.</p>} />
      {edited !== null && <Edit topic={topic} config={edited} reload={reload} onClose={() => setEdited(null)} />}
    </div>
  );
}

function Edit(props: { topic: Topic; config: Config; onClose: () => void; reload: () => void }) {
  const { config, topic } = props;
  const [value, setValue] = useState(config.value ?? "");
  const [reverts, setReverts] = useState(false);
  return (
    <Confirm
      title={`Change ${config.name}`}
      action={reverts ? "Revert it" : "Change it"}
      onClose={props.onClose}
      onConfirm={async () => {
        const configs = { [config.name]: reverts ? null : amountOf(config.name, value) };
        await request("PATCH", `/v1/topics/${encodeURIComponent(topic.name)}`, { body: { configs } });
        toast(`Changed ${config.name} of topic ${topic.name}`);
        props.reload();
      }}
    >
      <Field label="Value" value={value} onInput={setValue} autofocus mono disabled={reverts} hint={hintOf(config.name, value)} />
      {lowers(config, value) && !reverts && (
        <p class="flat" role="status">
          <Badge tone="warn">lower</Badge> Records above the new limit are deleted soon after the change. This cannot be undone.
        </p>
      )}
      {config.source === "topic" && <Checkbox label="Revert to the value of the broker" checked={reverts} onChange={setReverts} />}
    </Confirm>
  );
}

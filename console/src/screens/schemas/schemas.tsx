// The subjects of the schema registry, and the compatibility level of all of them.
import { useState } from "preact/hooks";
import { get } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { nameColumn } from "../../parts/columns";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { ActionButton, Field } from "../../parts/field";
import { FilterSwitch, Head, List, SearchField, isOn } from "../../parts/list";
import { Pager } from "../../parts/pager";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { LevelPanel } from "../schema/level";

interface Row {
  subject: string;
  deleted: boolean;
}

interface Answer {
  subjects: Row[];
  total: number;
  mayRegister: boolean;
}

const LIMIT = 100;
const pathTo = (row: Row) => pathOf("/schemas/:subject", { subject: row.subject });
const stateOf = (row: Row) => ({ deleted: row.deleted ? "true" : "" });

const COLUMNS: Column<Row>[] = [
  { ...nameColumn<Row>("subject", "Subject", (row) => row.subject, pathTo, { query: stateOf }), sort: undefined },
  {
    id: "state",
    title: "State",
    width: 140,
    cell: (row) => (row.deleted ? <Badge tone="warn">deleted</Badge> : <Badge tone="good">active</Badge>),
  },
];

export default function Schemas() {
  const search = queryOf("search");
  const deleted = isOn("deleted");
  const offset = Number(queryOf("offset", "0")) || 0;
  const [adding, setAdding] = useState(false);
  const answer = useLoad(`${search}\n${deleted}\n${offset}`, (signal) =>
    get<Answer>("/v1/schemas", { query: { search, deleted, offset, limit: LIMIT }, signal }),
  );
  return (
    <div class="stack">
      <Head title="Schemas">
        <ActionButton
          class="primary"
          onClick={() => setAdding(true)}
          reason={answer.data?.mayRegister === false ? "You have no right to register schemas." : undefined}
        >
          New subject
        </ActionButton>
      </Head>
      <List
        loaded={answer}
        filters={
          <>
            <SearchField name="search" label="Search subjects" />
            <FilterSwitch name="deleted" label="Show deleted subjects" />
          </>
        }
        count={(data) => `${formatCount(data.total)} found`}
      >
        {(data) => (
          <>
            <Table
              caption="Subjects"
              name="schemas"
              columns={COLUMNS}
              rows={data.subjects}
              rowKey={(row) => row.subject}
              onOpen={(row) => navigate(pathTo(row), stateOf(row))}
              empty={<Nothing search={search} />}
            />
            <Pager offset={offset} limit={LIMIT} total={data.total} onMove={(to) => setQuery({ offset: to || "" })} />
          </>
        )}
      </List>
      <LevelPanel title="Compatibility level of all subjects" />
      {adding && <NewSubject onClose={() => setAdding(false)} />}
    </div>
  );
}

function Nothing(props: { search: string }) {
  if (props.search !== "") return <Empty title="No subject matches" />;
  return (
    <Empty title="No schema is registered">
      <p>
        A subject holds the versions of one schema: <code>orders-value</code> is that of the values of topic orders.
        Producers and SQL statements with Avro, JSON Schema or Protobuf register them. You can do so with “New subject”.
      </p>
    </Empty>
  );
}

function NewSubject(props: { onClose: () => void }) {
  const [subject, setSubject] = useState("");
  return (
    <Dialog title="New subject" onClose={props.onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          props.onClose();
          navigate(pathOf("/schemas/:subject", { subject }), { view: "draft" });
        }}
      >
        <Field
          label="Subject"
          hint="TOPIC-value or TOPIC-key, unless the topic uses another naming strategy."
          value={subject}
          onInput={setSubject}
          required
          autofocus
          mono
        />
        <div class="row end">
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={subject.trim() === ""}>
            Write its schema
          </button>
        </div>
      </form>
    </Dialog>
  );
}

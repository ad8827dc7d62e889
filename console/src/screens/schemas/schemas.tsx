// The subjects of the schema registry, and the compatibility level of all of them.
import { useState } from "preact/hooks";
import { get } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Checkbox, Field } from "../../parts/field";
import { Pager } from "../../parts/pager";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
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
const COLUMNS: Column<Row>[] = [
  {
    id: "subject",
    title: "Subject",
    cell: (row) => (
      <Link to={pathOf("/schemas/:subject", { subject: row.subject })} query={{ deleted: row.deleted ? "true" : "" }}>
        {visible(row.subject)}
      </Link>
    ),
  },
  {
    id: "state",
    title: "State",
    width: 140,
    cell: (row) => (row.deleted ? <Badge tone="warn">deleted</Badge> : <Badge tone="good">active</Badge>),
  },
];

export default function Schemas() {
  const search = queryOf("search");
  const deleted = queryOf("deleted") === "true";
  const offset = Number(queryOf("offset", "0")) || 0;
  const [adding, setAdding] = useState(false);
  const answer = useLoad(`${search}\n${deleted}\n${offset}`, (signal) =>
    get<Answer>("/v1/schemas", { query: { search, deleted, offset, limit: LIMIT }, signal }),
  );
  const found = answer.data;
  const open = (row: Row) => navigate(pathOf("/schemas/:subject", { subject: row.subject }), { deleted: row.deleted ? "true" : "" });
  return (
    <div class="stack">
      <div class="row ends">
        <h1>Schemas</h1>
        <ActionButton
          class="primary"
          onClick={() => setAdding(true)}
          reason={found?.mayRegister === false ? "You have no right to register schemas." : undefined}
        >
          New subject
        </ActionButton>
      </div>
      <div class="row bottom">
        <Field
          label="Search subjects"
          type="search"
          search
          value={search}
          onInput={(value) => setQuery({ search: value, offset: "" })}
        />
        <Checkbox
          label="Show deleted subjects"
          checked={deleted}
          onChange={(value) => setQuery({ deleted: value ? "true" : "", offset: "" })}
        />
        <span class="soft" role="status">
          {found === null ? "" : `${formatCount(found.total)} found`}
        </span>
      </div>
      {answer.error && <ErrorPanel error={answer.error} onRetry={answer.reload} />}
      {found === null && answer.error === null && <Waiting />}
      {found !== null && (
        <>
          <Table
            caption="Subjects"
            name="schemas"
            columns={COLUMNS}
            rows={found.subjects}
            rowKey={(row) => row.subject}
            onOpen={open}
            empty={<Nothing search={search} />}
          />
          <Pager offset={offset} limit={LIMIT} total={found.total} onMove={(to) => setQuery({ offset: to || "" })} />
        </>
      )}
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

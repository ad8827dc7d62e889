// Access control lists: list, add by purpose, remove.
import { useState } from "preact/hooks";
import { del, get } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { textColumn } from "../../parts/columns";
import { Confirm } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { ActionButton, Field } from "../../parts/field";
import { List, SearchField } from "../../parts/list";
import { Pager } from "../../parts/pager";
import { Table, type Column } from "../../parts/table";
import { queryOf, setQuery } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { AddRules } from "./add-rules";
import { asRequest, sentence, type Rule } from "./rules";

interface Answer {
  enabled: boolean;
  rules: Rule[];
  total: number;
  mayChange: boolean;
}

const LIMIT = 100;
const NO_RIGHT = "Changing rules needs the right ALTER on the cluster.";

export function RuleList() {
  const search = queryOf("search");
  const principal = queryOf("principal");
  const offset = Number(queryOf("offset", "0")) || 0;
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Rule | null>(null);
  const answer = useLoad(`${search}\n${principal}\n${offset}`, (signal) =>
    get<Answer>("/v1/acls", { query: { search, principal, offset, limit: LIMIT }, signal }),
  );
  const found = answer.data;
  const reason =
    found === null || (found.enabled && found.mayChange) ? (found === null && answer.error !== null ? NO_RIGHT : undefined) : found.enabled ? NO_RIGHT : NO_AUTHORIZER;
  const columns: Column<Rule>[] = [
    textColumn("principal", "Principal", (row) => row.principal),
    textColumn("operation", "Operation", (row) => row.operation, {
      width: 200,
      cell: (row) => (
        <>
          <Badge tone={row.permission === "deny" ? "bad" : "good"}>{row.permission}</Badge> {row.operation}
        </>
      ),
    }),
    textColumn("resource", "Resource", (row) => row.resource, { width: 130, wide: true }),
    textColumn("name", "Name", (row) => row.name, {
      cell: (row) => (
        <span title={visible(sentence(row))}>
          {visible(row.name)}
          {row.pattern === "prefixed" && <span class="soft">… (prefix)</span>}
        </span>
      ),
    }),
    textColumn("host", "Host", (row) => row.host, { width: 120, wide: true }),
    {
      id: "actions",
      title: "Actions",
      width: 110,
      cell: (row) => (
        <ActionButton class="small danger" reason={reason} onClick={() => setRemoved(row)}>
          Remove…<span class="hidden-text"> {visible(sentence(row))}</span>
        </ActionButton>
      ),
    },
  ];
  return (
    <>
      <List
        loaded={answer}
        filters={
          <>
            <SearchField name="search" label="Search rules" />
            <Field
              label="Principal"
              value={principal}
              placeholder="User:NAME"
              onInput={(value) => setQuery({ principal: value, offset: "" })}
            />
            <ActionButton class="primary" onClick={() => setAdding(true)} reason={reason}>
              Add rules
            </ActionButton>
          </>
        }
        count={(data) => `${formatCount(data.total)} found`}
      >
        {(data) =>
          data.enabled ? (
            <>
              <Table
                caption="Rules"
                name="rules"
                columns={columns}
                rows={data.rules}
                rowKey={(row) => Object.values(row).join("\n")}
                rowHeight={36}
                copy={sentence}
                empty={<Nothing filtered={search !== "" || principal !== ""} />}
              />
              <Pager offset={offset} limit={LIMIT} total={data.total} onMove={(to) => setQuery({ offset: to || "" })} />
            </>
          ) : (
            <Empty title="The cluster has no access control">
              <p>
                {NO_AUTHORIZER} <code>duolog start --profile team</code> runs a broker with TLS, users and rules.
              </p>
            </Empty>
          )
        }
      </List>
      {adding && (
        <AddRules
          principal={principal}
          onClose={() => setAdding(false)}
          onDone={(count, added) => {
            // The filter would hide the new rules.
            if (principal !== "" && principal !== added) setQuery({ principal: added, offset: "" });
            toast(`Added ${count === 1 ? "1 rule" : `${count} rules`}`);
            answer.reload();
          }}
        />
      )}
      {removed !== null && (
        <Confirm
          title="Remove a rule"
          action="Remove rule"
          danger
          onClose={() => setRemoved(null)}
          onConfirm={async () => {
            await del<unknown>("/v1/acls", { body: asRequest(removed) });
            toast("Removed the rule");
            answer.reload();
          }}
        >
          <p>{visible(sentence(removed))}.</p>
          <p>Other rules may still allow or deny the same. The change takes effect immediately.</p>
        </Confirm>
      )}
    </>
  );
}

const NO_AUTHORIZER = "The broker has no authorizer: every client may do everything.";

function Nothing(props: { filtered: boolean }) {
  if (props.filtered) return <Empty title="No rule matches" />;
  return (
    <Empty title="There are no rules">
      <p>Without rules, only administrators may do anything. “Add rules” has forms for producers, consumers and users of SQL.</p>
    </Empty>
  );
}

// All groups of consumers, of every protocol, with their lag in records and in time.
import { get } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Field, Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { Age, Records, Spark, Unknown } from "./lag";
import { compareCounts, type Group, type GroupList } from "./model";

const EVERY_MS = 5000;
const PAGE = 100;
const STATES = ["Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead"];
const PROTOCOLS = ["classic", "consumer", "share", "streams"];

const columns: readonly Column<Group>[] = [
  {
    id: "group",
    title: "Group",
    cell: (one) => <Link to={pathOf("/groups/:group", { group: one.group })}>{visible(one.group)}</Link>,
    sort: (a, b) => a.group.localeCompare(b.group),
  },
  {
    id: "state",
    title: "State",
    width: 150,
    wide: true,
    cell: (one) => <Badge tone={toneOf(one.state)}>{one.state || "unknown"}</Badge>,
    sort: (a, b) => a.state.localeCompare(b.state),
  },
  { id: "protocol", title: "Protocol", width: 100, wide: true, cell: (one) => one.protocol },
  {
    id: "members",
    title: "Members",
    width: 100,
    number: true,
    wide: true,
    cell: (one) => (one.members === null ? <Unknown /> : formatCount(one.members)),
    sort: (a, b) => compareCounts(a.members, b.members),
  },
  {
    id: "records",
    title: "Lag",
    width: 110,
    number: true,
    cell: (one) => <Records records={one.lag?.records ?? null} trend={one.lag?.recordsTrend ?? null} />,
    sort: (a, b) => compareCounts(a.lag?.records ?? null, b.lag?.records ?? null),
  },
  {
    id: "ms",
    title: "Lag in time",
    width: 130,
    number: true,
    cell: (one) => (
      <Age ms={one.lag?.ms ?? null} trend={one.lag?.msTrend ?? null} complete={one.lag?.complete ?? true} />
    ),
    sort: (a, b) => compareCounts(a.lag?.ms ?? null, b.lag?.ms ?? null),
  },
  {
    id: "line",
    title: "Last minutes",
    width: 130,
    wide: true,
    cell: (one) => <Spark samples={one.lag?.history?.records ?? []} label={`Lag of ${one.group}`} />,
  },
  { id: "topics", title: "Topics", wide: true, cell: (one) => visible(one.topics.join(", ")) },
];

export default function Groups() {
  const search = queryOf("q");
  const state = queryOf("state");
  const protocol = queryOf("protocol");
  const after = queryOf("after");
  const loaded = useLoad<GroupList>(
    JSON.stringify([search, state, protocol, after]),
    (signal) =>
      get("/v1/groups", {
        query: {
          search: search || undefined,
          state: state || undefined,
          protocol: protocol || undefined,
          after: after || undefined,
          max: PAGE,
        },
        signal,
      }),
    EVERY_MS,
  );
  const filtered = search !== "" || state !== "" || protocol !== "" || after !== "";
  const { data, error } = loaded;
  return (
    <div class="stack">
      <h1>Groups</h1>
      <div class="row bottom" role="search">
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={(value) => setQuery({ q: value, after: null })}
          placeholder="Part of a name"
          search
        />
        <Select
          label="State"
          value={state}
          onChange={(value) => setQuery({ state: value, after: null })}
          options={[{ value: "", label: "all states" }, ...STATES]}
        />
        <Select
          label="Protocol"
          value={protocol}
          onChange={(value) => setQuery({ protocol: value, after: null })}
          options={[{ value: "", label: "all protocols" }, ...PROTOCOLS]}
        />
        <p class="soft small push-right" role="status">
          {data === null ? "" : `${formatCount(data.matching)} of ${formatCount(data.total)} groups`}
        </p>
      </div>
      {error !== null && <ErrorPanel error={error} onRetry={loaded.reload} />}
      {data?.problems.map((problem) => (
        <div class="error-panel" key={problem} role="alert">
          {visible(problem)}
        </div>
      ))}
      {data === null && error === null && <Waiting />}
      {data !== null && data.total === 0 && <NoGroups />}
      {data !== null && data.total > 0 && (
        <>
          <Table
            caption="Groups of consumers"
            columns={columns}
            rows={data.groups}
            rowKey={(one) => one.group}
            onOpen={(one) => navigate(pathOf("/groups/:group", { group: one.group }))}
            name="groups"
            sorted={queryOf("sort")}
            onSort={(sort) => setQuery({ sort })}
            empty={filtered ? "No group matches the filters." : "There are no groups."}
          />
          {(after !== "" || data.next !== null) && (
            <div class="row end">
              <button disabled={after === ""} onClick={() => setQuery({ after: null }, { replace: false })}>
                First page
              </button>
              <button disabled={data.next === null} onClick={() => setQuery({ after: data.next }, { replace: false })}>
                Next page
              </button>
            </div>
          )}
        </>
      )}
    </div>
  );
}

function NoGroups() {
  return (
    <Empty title="No consumer groups yet">
      <p>
        A group appears when a consumer with a <code>group.id</code> joins it, and stays while it has committed offsets.
        Start one in a terminal:
      </p>
      <pre>duolog consume orders --group my-app --from-beginning</pre>
    </Empty>
  );
}

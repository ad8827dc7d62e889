// All groups of consumers, of every protocol, with their lag in records and in time.
import { get } from "../../lib/api";
import { formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { FilterChoice, Head, List, SearchField, countText, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { Age, Records, Spark } from "./lag";
import { type Group, type GroupList } from "./model";

const EVERY_MS = 5000;
const PAGE = 100;
const STATES = ["Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Dead"];
const PROTOCOLS = ["classic", "consumer", "share", "streams"];

const pathTo = (one: Group) => pathOf("/groups/:group", { group: one.group });

const columns: readonly Column<Group>[] = [
  nameColumn("group", "Group", (one) => one.group, pathTo),
  textColumn("state", "State", (one) => one.state, {
    width: 150,
    wide: true,
    cell: (one) => <Badge tone={toneOf(one.state)}>{one.state || "unknown"}</Badge>,
  }),
  textColumn("protocol", "Protocol", (one) => one.protocol, { width: 100, wide: "very" }),
  figureColumn("members", "Members", 100, (one) => one.members, formatCount, { wide: "very" }),
  figureColumn("records", "Lag", 110, (one) => one.lag?.records, formatCount, {
    cell: (one) => <Records records={one.lag?.records ?? null} trend={one.lag?.recordsTrend ?? null} />,
  }),
  figureColumn("ms", "Lag in time", 130, (one) => one.lag?.ms, formatCount, {
    cell: (one) => (
      <Age ms={one.lag?.ms ?? null} trend={one.lag?.msTrend ?? null} complete={one.lag?.complete ?? true} />
    ),
  }),
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
  const [search, state, protocol, after] = [queryOf("q"), queryOf("state"), queryOf("protocol"), queryOf("after")];
  const query = {
    search: search || undefined,
    state: state || undefined,
    protocol: protocol || undefined,
    after: after || undefined,
    max: PAGE,
  };
  const loaded = useLoad(
    JSON.stringify(query),
    (signal) => get<GroupList>("/v1/groups", { query, signal }),
    EVERY_MS,
  );
  const filtered = search !== "" || state !== "" || protocol !== "" || after !== "";
  return (
    <div class="stack">
      <Head title="Groups" />
      <List
        loaded={loaded}
        filters={
          <>
            <SearchField placeholder="Part of a name" />
            <FilterChoice name="state" label="State" all="all states" options={STATES} />
            <FilterChoice name="protocol" label="Protocol" all="all protocols" options={PROTOCOLS} />
          </>
        }
        count={(data) => countText(Number(data.matching), Number(data.total), "group", "groups")}
        problems={(data) => data.problems}
      >
        {(data) =>
          data.total === 0 ? (
            <NoGroups />
          ) : (
            <>
              <Table
                caption="Groups of consumers"
                columns={columns}
                rows={data.groups}
                rowKey={(one) => one.group}
                onOpen={(one) => navigate(pathTo(one))}
                name="groups"
                {...orderIn("sort")}
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
          )
        }
      </List>
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

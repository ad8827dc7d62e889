// All topics with dead letters, with counts by reason.
import { get } from "../../lib/api";
import { formatAgo, formatCount, formatTime } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { figureColumn, nameColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { Head, List, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf } from "../../shell/router";
import type { LetterTopic } from "./letters";

const EVERY_MS = 15_000;
const pathTo = (row: LetterTopic) => pathOf("/dead-letters/:topic", { topic: row.topic });

const COLUMNS: Column<LetterTopic>[] = [
  nameColumn("topic", "Topic", (row) => row.topic, pathTo, { width: 220 }),
  figureColumn("open", "Open", 90, (row) => row.letters - row.replayed, formatCount),
  figureColumn("replayed", "Replayed", 100, (row) => row.replayed, formatCount),
  {
    id: "reasons",
    title: "Reasons",
    cell: (row) => {
      const text = reasonsOf(row);
      return <span title={text}>{text}</span>;
    },
  },
  { id: "queries", title: "Written by", width: 220, wide: "very", cell: (row) => row.queries.join(", ") },
  timeColumn("newest", "Newest", (row) => row.newest),
  timeColumn("oldest", "Oldest", (row) => row.oldest, "very"),
];

function timeColumn(id: string, title: string, of: (row: LetterTopic) => number | null, wide: true | "very" = true): Column<LetterTopic> {
  return figureColumn(id, title, 140, of, formatTime, {
    wide,
    number: false,
    cell: (row) => <span title={formatTime(of(row))}>{formatAgo(of(row))}</span>,
  });
}

function reasonsOf(row: LetterTopic): string {
  const counts = new Map<string, number>();
  for (const one of row.groups) counts.set(one.reason, (counts.get(one.reason) ?? 0) + one.letters);
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .map(([reason, count]) => `${reason} ${formatCount(count)}`)
    .join(", ");
}

export default function DeadLetters() {
  const loaded = useLoad(
    "dead-letters",
    (signal) => get<{ topics: LetterTopic[]; problems: string[] }>("/v1/dead-letters", { signal }),
    EVERY_MS,
  );
  return (
    <div class="stack">
      <Head title="Dead letters" />
      <p class="soft">
        A dead letter is a record that a query could not process, with the error in its headers. Correct it, and replay it
        to the topic that it came from.
      </p>
      <List loaded={loaded} waiting="Looking for dead letters in all topics…">
        {(data) => (
          <>
            <Table
              caption="Topics with dead letters"
              name="dead-letters"
              columns={COLUMNS}
              rows={data.topics}
              rowKey={(row) => row.topic}
              onOpen={(row) => navigate(pathTo(row))}
              {...orderIn("sort", "-open")}
              empty={<NoLetters />}
            />
            {data.topics.some((one) => !one.complete) && (
              <p class="soft small">In large topics, only the newest records are counted.</p>
            )}
            {data.problems.length > 0 && <Unreadable problems={data.problems} />}
          </>
        )}
      </List>
    </div>
  );
}

function Unreadable(props: { problems: readonly string[] }) {
  return (
    <section aria-label="Topics that cannot be read">
      <h2>Topics that cannot be read</h2>
      <ul>
        {props.problems.map((one) => (
          <li key={one} class="break">
            {one}
          </li>
        ))}
      </ul>
    </section>
  );
}

function NoLetters() {
  return (
    <Empty title="There are no dead letters">
      <p>
        Name a topic for them when you start a query: records that it cannot read or process are written there, and not
        lost.
      </p>
      <pre class="sql-text">{"CREATE STREAM large WITH (DEAD_LETTER_TOPIC = 'wrong-orders') AS\n  SELECT …;"}</pre>
    </Empty>
  );
}

// All topics with dead letters, with counts by reason.
import { get } from "../../lib/api";
import { formatAgo, formatCount, formatTime } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { compare } from "../queries/figures";
import type { LetterTopic } from "./letters";

const EVERY_MS = 15_000;
const pathTo = (row: LetterTopic) => pathOf("/dead-letters/:topic", { topic: row.topic });

const COLUMNS: Column<LetterTopic>[] = [
  {
    id: "topic",
    title: "Topic",
    width: 240,
    cell: (row) => <Link to={pathTo(row)}>{row.topic}</Link>,
    sort: (a, b) => a.topic.localeCompare(b.topic),
  },
  {
    id: "open",
    title: "Open",
    width: 90,
    number: true,
    cell: (row) => formatCount(row.letters - row.replayed),
    sort: (a, b) => a.letters - a.replayed - b.letters + b.replayed,
  },
  { id: "replayed", title: "Replayed", width: 100, number: true, cell: (row) => formatCount(row.replayed), sort: (a, b) => a.replayed - b.replayed },
  {
    id: "reasons",
    title: "Reasons",
    cell: (row) => {
      const text = reasonsOf(row);
      return <span title={text}>{text}</span>;
    },
  },
  { id: "queries", title: "Written by", width: 220, wide: true, cell: (row) => row.queries.join(", ") },
  {
    id: "newest",
    title: "Newest",
    width: 140,
    wide: true,
    cell: (row) => <span title={formatTime(row.newest)}>{formatAgo(row.newest)}</span>,
    sort: (a, b) => compare(a.newest, b.newest),
  },
  {
    id: "oldest",
    title: "Oldest",
    width: 140,
    wide: true,
    cell: (row) => <span title={formatTime(row.oldest)}>{formatAgo(row.oldest)}</span>,
    sort: (a, b) => compare(a.oldest, b.oldest),
  },
];

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
  const topics = loaded.data?.topics ?? [];
  return (
    <div class="stack">
      <h1>Dead letters</h1>
      <p class="soft">
        A dead letter is a record that a query could not process, with the error in its headers. Correct it, and replay it
        to the topic that it came from.
      </p>
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {loaded.data === null ? (
        loaded.error === null && <Waiting text="Looking for dead letters in all topics…" />
      ) : (
        <Table
          caption="Topics with dead letters"
          name="dead-letters"
          columns={COLUMNS}
          rows={topics}
          rowKey={(row) => row.topic}
          onOpen={(row) => navigate(pathTo(row))}
          sorted={queryOf("sort", "-open")}
          onSort={(sort) => setQuery({ sort })}
          empty={<NoLetters />}
        />
      )}
      {topics.some((one) => !one.complete) && (
        <p class="soft small">In large topics, only the newest records are counted.</p>
      )}
      {(loaded.data?.problems.length ?? 0) > 0 && (
        <section aria-label="Topics that cannot be read">
          <h2>Topics that cannot be read</h2>
          <ul>
            {loaded.data!.problems.map((one) => (
              <li key={one} class="break">
                {one}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
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

// The letters of one topic: filter, look, correct, replay.
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, get, type ApiError } from "../../lib/api";
import { formatCount, formatTime, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Field, Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf, queryOf, setQuery, type ScreenProps } from "../../shell/router";
import { LetterPanel } from "./letter";
import { parametersOf, placeOf, type Letter, type Letters, type LetterTopic, type Selection } from "./letters";
import { ReplayDialog } from "./replay";

const PAGE = 100;
const ROWS_MAX = 10_000;

const COLUMNS: Column<Letter>[] = [
  { id: "place", title: "Place", width: 90, number: true, cell: placeOf },
  { id: "time", title: "Time", width: 200, wide: true, cell: (row) => formatTime(row.timestamp) },
  {
    id: "state",
    title: "State",
    width: 110,
    cell: (row) => (row.replayed ? <Badge tone="good">replayed</Badge> : <Badge tone="warn">open</Badge>),
  },
  { id: "reason", title: "Reason", width: 190, wide: "very", cell: (row) => visible(row.reason) },
  {
    id: "message",
    title: "Message",
    cell: (row) => <span title={visible(row.message)}>{visible(row.message)}</span>,
  },
  { id: "key", title: "Key", width: 130, wide: true, cell: (row) => (row.key === null ? "" : visible(row.key.text)) },
  {
    id: "value",
    title: "Value",
    width: 260,
    wide: "very",
    cell: (row) => <code>{row.value === null ? "null" : visible(row.value.text.slice(0, 200))}</code>,
  },
  { id: "query", title: "Query", width: 160, wide: "very", cell: (row) => row.query },
];

export default function LettersOfTopic({ params }: ScreenProps) {
  const topic = params["topic"]!;
  const about = useLoad(topic, async (signal) => {
    const found = await get<{ topics: LetterTopic[] }>("/v1/dead-letters", { signal });
    return found.topics.find((one) => one.topic === topic) ?? null;
  });
  const selection: Selection = {
    reason: queryOf("reason"),
    query: queryOf("query"),
    source: queryOf("source"),
    status: queryOf("status", "open"),
    since: queryOf("since"),
  };
  const letters = useLetters(topic, selection);
  const [replaying, setReplaying] = useState(false);
  const wanted = queryOf("letter");
  // Read by its place, so that a link to it works, and that it stays when the filter leaves it out.
  const one = useLoad(`${topic} ${wanted}`, (signal) => letterAt(topic, wanted, signal));
  const open = one.data;
  const changed = () => (letters.reload(), about.reload(), one.reload());
  const reason =
    about.data !== null && !about.data.mayReplay
      ? "You have no right to write to all source topics of these letters: Write on each of them."
      : undefined;
  return (
    <div class="stack">
      <div class="row ends">
        <h1>Dead letters in {topic}</h1>
        <span class="row">
          <Link to={pathOf("/topics/:topic", { topic })} class="button">
            All records of the topic
          </Link>
          <ActionButton class="primary" reason={reason} onClick={() => setReplaying(true)}>
            Replay these letters…
          </ActionButton>
        </span>
      </div>
      <Filters selection={selection} about={about.data} />
      {letters.error && <ErrorPanel error={letters.error} onRetry={letters.reload} />}
      {letters.loading && letters.rows.length === 0 ? (
        letters.error === null && <Waiting />
      ) : (
        <Table
          caption={`Dead letters in ${topic}`}
          name="letters"
          columns={COLUMNS}
          rows={letters.rows}
          rowKey={placeOf}
          selected={wanted}
          onOpen={(row) => setQuery({ letter: placeOf(row) })}
          {...(letters.rows.length > 12 ? { height: "45vh" } : {})}
          empty={
            selection.status === "open"
              ? "No open letter matches: all are replayed, or the filter hides them."
              : "No letter matches."
          }
        />
      )}
      <div class="row">
        {letters.next !== null && letters.rows.length < ROWS_MAX && (
          <button disabled={letters.loading} onClick={letters.more}>
            Show {PAGE} more
          </button>
        )}
        <span class="soft" role="status">
          {formatCount(letters.rows.length)} {letters.rows.length === 1 ? "letter" : "letters"} shown
          {letters.next !== null && ", more follow"}
        </span>
      </div>
      {one.error && <ErrorPanel error={one.error} onRetry={one.reload} />}
      {wanted !== "" && !one.loading && one.error === null && open === null && (
        <p role="status">There is no letter at {wanted}: retention may have removed it.</p>
      )}
      {open !== null && (
        <LetterPanel
          key={placeOf(open)}
          topic={topic}
          letter={open}
          reason={reason}
          onReplayed={changed}
          onClose={() => {
            document.querySelector<HTMLElement>("main [data-table]")?.focus();
            setQuery({ letter: null });
          }}
        />
      )}
      {replaying && (
        <ReplayDialog
          topic={topic}
          selection={selection}
          onClose={() => {
            setReplaying(false);
            changed();
          }}
        />
      )}
    </div>
  );
}

async function letterAt(topic: string, place: string, signal: AbortSignal): Promise<Letter | null> {
  const found = /^(\d+):(\d+)$/.exec(place);
  if (found === null) return null;
  const query = { partition: found[1], offset: found[2] };
  const answer = await get<Letters>(`/v1/dead-letters/${encodeURIComponent(topic)}`, { query, signal });
  return answer.letters[0] ?? null;
}

function Filters({ selection, about }: { selection: Selection; about: LetterTopic | null }) {
  const values = (of: (group: LetterTopic["groups"][number]) => string) =>
    [...new Set((about?.groups ?? []).map(of))].filter((one) => one !== "").sort();
  const choice = (all: string, found: string[], now: string) => [
    { value: "", label: all },
    ...[...new Set([...found, ...(now === "" ? [] : [now])])].map((one) => ({ value: one, label: one })),
  ];
  return (
    <div class="row bottom">
      <Field
        label="Error contains"
        type="search"
        search
        placeholder="Class or message"
        value={selection.reason}
        onInput={(reason) => setQuery({ reason, letter: null })}
      />
      <Select
        label="State"
        value={selection.status}
        onChange={(status) => setQuery({ status, letter: null })}
        options={["open", "replayed", "all"]}
      />
      <Select
        label="Time"
        value={selection.since}
        onChange={(since) => setQuery({ since, letter: null })}
        options={[
          { value: "", label: "any" },
          { value: "1h", label: "last hour" },
          { value: "24h", label: "last 24 hours" },
          { value: "7d", label: "last 7 days" },
        ]}
      />
      <Select
        label="Source"
        value={selection.source}
        onChange={(source) => setQuery({ source, letter: null })}
        options={choice("all topics", values((one) => one.source), selection.source)}
      />
      <Select
        label="Query"
        value={selection.query}
        onChange={(query) => setQuery({ query, letter: null })}
        options={choice("all", values((one) => one.query), selection.query)}
      />
    </div>
  );
}

interface Loaded {
  rows: Letter[];
  next: string | null;
  loading: boolean;
  error: ApiError | null;
  more: () => void;
  reload: () => void;
}

const TYPING_MS = 250;

/** Return the letters of a selection, a page after the other. */
function useLetters(topic: string, selection: Selection): Loaded {
  const key = JSON.stringify([topic, selection]);
  const [again, setAgain] = useState(0);
  const [state, setState] = useState<Omit<Loaded, "more" | "reload">>({ rows: [], next: null, loading: true, error: null });
  const latest = useRef("");
  const load = async (wanted: string, rest: string | null, abort?: AbortSignal) => {
    setState((known) => ({ ...known, loading: true }));
    try {
      const query = { ...parametersOf(selection, Date.now()), max: PAGE, continue: rest ?? undefined };
      const path = `/v1/dead-letters/${encodeURIComponent(topic)}`;
      const found = await get<Letters>(path, { query, ...(abort === undefined ? {} : { signal: abort }) });
      if (latest.current !== wanted) return;
      setState((known) => ({
        rows: rest === null ? found.letters : [...known.rows, ...found.letters].slice(0, ROWS_MAX),
        next: found.next,
        loading: false,
        error: null,
      }));
    } catch (error) {
      if (abort?.aborted === true || latest.current !== wanted) return;
      setState((known) => ({ ...known, loading: false, error: asApiError(error) }));
    }
  };
  useEffect(() => {
    const abort = new AbortController();
    const wanted = `${key} ${again}`;
    latest.current = wanted;
    // Not for each letter of a word that is typed.
    const timer = setTimeout(() => void load(wanted, null, abort.signal), state.rows.length === 0 ? 0 : TYPING_MS);
    return () => (clearTimeout(timer), abort.abort());
  }, [key, again]);
  return {
    ...state,
    more: () => void load(`${key} ${again}`, state.next),
    reload: () => setAgain((n) => n + 1),
  };
}

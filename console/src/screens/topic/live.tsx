// New records as they arrive, at most 50 a second; the others are counted.
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../lib/api";
import { openEvents } from "../../lib/events";
import { formatCount } from "../../lib/format";
import { Badge } from "../../parts/badge";
import { Spoken } from "../../parts/spoken";
import { ErrorPanel } from "../../parts/empty";
import type { BrowsedRecord, Topic } from "./model";
import { Marked } from "./marked";
import { RecordTable } from "./records";
import { positionOf } from "./model";

export const ROWS_MAX = 1_000;

interface Event {
  records: BrowsedRecord[];
  read: number;
  matched: number;
  leftOut: number;
}

interface State {
  rows: BrowsedRecord[];
  read: number;
  matched: number;
  leftOut: number;
}

const NOTHING: State = { rows: [], read: 0, matched: 0, leftOut: 0 };

/** Return the state after an event: newest first, with a bound; while paused, rows are only counted. */
export function after(state: State, event: Event, paused: boolean): State {
  return {
    rows: paused ? state.rows : [...[...event.records].reverse(), ...state.rows].slice(0, ROWS_MAX),
    read: state.read + event.read,
    matched: state.matched + event.matched,
    leftOut: state.leftOut + event.leftOut + (paused ? event.records.length : 0),
  };
}

export function Live(props: { topic: Topic; filters: Record<string, string | undefined> }) {
  const [state, setState] = useState(NOTHING);
  const [error, setError] = useState<ApiError | null>(null);
  const [open, setOpen] = useState(false);
  const [paused, setPaused] = useState(false);
  const isPaused = useRef(false);
  isPaused.current = paused;
  const key = JSON.stringify(props.filters);
  useEffect(() => {
    setState(NOTHING);
    setError(null);
    const close = openEvents(`/v1/topics/${encodeURIComponent(props.topic.name)}/live`, {
      query: props.filters,
      onOpen: () => {
        setOpen(true);
        setError(null);
      },
      onError: (failed) => {
        setOpen(false);
        setError(asApiError(failed));
      },
      onEvent: (event) => {
        if (event.type === "records") setState((known) => after(known, event.data as Event, isPaused.current));
        else if (event.type === "failed") setError(failedOf(event.data));
      },
    });
    // A page that the browser keeps for its back button has no stream until it is shown again.
    const hide = () => setOpen(false);
    addEventListener("pagehide", hide);
    return () => {
      removeEventListener("pagehide", hide);
      close();
    };
  }, [props.topic.name, key]);
  const at = positionOf(error?.body);
  const now = paused ? "paused" : open ? "live" : "connecting";
  const counts = [
    `${formatCount(state.read)} read`,
    `${formatCount(state.matched)} matched`,
    ...(state.leftOut > 0 ? [`${formatCount(state.leftOut)} not shown`] : []),
  ].join(", ");
  return (
    <>
      <div class="row ends">
        <p class="row" style={{ minHeight: "24px", margin: 0 }}>
          <Badge tone={paused ? "warn" : open ? "good" : "plain"}>{now}</Badge>
          <span class="soft" data-count="received">{counts}</span>
        </p>
        <Spoken state={now} text={counts} />
        <button type="button" onClick={() => setPaused(!paused)}>
          {paused ? "Resume" : "Pause"}
        </button>
      </div>
      {error && <ErrorPanel error={error} />}
      {at !== null && <Marked where={props.filters["where"] ?? ""} at={at} />}
      <RecordTable
        topic={props.topic}
        records={state.rows}
        empty={<p>Records appear here as they are written, the newest first.</p>}
      />
    </>
  );
}

function failedOf(data: unknown): ApiError {
  const body = data as { message?: string; detail?: string; hint?: string };
  return Object.assign(asApiError(new Error(body.message ?? "The server has stopped the rows")), {
    detail: body.detail ?? "",
    hint: body.hint ?? "",
    body: data,
  });
}

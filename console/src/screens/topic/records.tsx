// The records of a topic: seek, search, select by SQL, page, follow, export, and one record in detail.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { asApiError, get, type ApiError } from "../../lib/api";
import { startDownload } from "../../lib/download";
import { formatBytes, formatTime, visible } from "../../lib/format";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { preview } from "../../parts/values";
import { Link, place, queryOf, setQuery } from "../../shell/router";
import { Detail } from "./detail";
import { Live } from "./live";
import { Marked } from "./marked";
import { SEEK, filtersOf, placeOf, positionOf, offsetsOf, progressOf, told, type BrowsedRecord, type Page, type Seek, type Topic } from "./model";
import { usePages } from "./pages";
import { SeekForm } from "./seek";

/** Rows of a page, if the form does not say. */
const ROWS = 50;

export function Records(props: { topic: Topic }) {
  const { topic } = props;
  const seek = useSeek();
  const live = queryOf("live") === "true";
  const address = `/v1/topics/${encodeURIComponent(topic.name)}`;
  if (!topic.may.read) return <p>You have no right to read the records of this topic: Read on topic {topic.name}.</p>;
  return (
    <div class="stack">
      <SeekForm seek={seek} partitions={topic.partitions.length} live={live} />
      {live ? <Live topic={topic} filters={filtersOf(seek)} /> : <Paged topic={topic} seek={seek} address={address} />}
    </div>
  );
}

function Paged(props: { topic: Topic; seek: Seek; address: string }) {
  const { topic, seek, address } = props;
  const cursor = queryOf("cursor");
  const query = { ...placeOf(seek), cursor: cursor || undefined };
  const selects = seek.search !== "" || seek.where !== "";
  const [failed, setFailed] = useState<ApiError | null>(null);
  const page = usePages(
    `${address}|${JSON.stringify(query)}`,
    Number(seek.limit) || ROWS,
    selects,
    (next, limit, signal) =>
      get<Page>(`${address}/records`, { query: { ...query, limit, ...(next === null ? {} : { cursor: next }) }, signal }),
  );
  const found = page.page;
  return (
    <>
      <div class="row ends">
        <p class="soft" role="status" style={{ minHeight: "21px", margin: 0 }}>
          {found ? (page.running && selects ? progressOf(found, offsetsOf(topic, seek)) : told(found, selects)) : page.error ? "" : "Reading the topic…"}
        </p>
        <div class="row">
          {cursor !== "" && (
            <button type="button" onClick={() => setQuery({ cursor: null, at: null }, {})}>
              First page
            </button>
          )}
          <button
            type="button"
            disabled={(page.running && selects) || !found?.next || (found.end && found.records.length === 0)}
            onClick={() => setQuery({ cursor: found?.next, at: null }, {})}
          >
            Next page
          </button>
          {page.running && selects ? (
            <button type="button" onClick={page.stop}>
              Stop the search
            </button>
          ) : (
            <button type="button" onClick={page.reload}>
              Read again
            </button>
          )}
          <Exports address={address} seek={seek} onError={setFailed} />
        </div>
      </div>
      {failed && <ErrorPanel error={failed} />}
      {page.error && <Refused error={page.error} seek={seek} />}
      {found === null ? (
        page.error === null && page.running && <Waiting text="Reading records" />
      ) : (
        <RecordTable topic={topic} records={found.records} empty={<None topic={topic} selects={selects} running={page.running} page={found} />} />
      )}
    </>
  );
}

/** The records, and the one that is open next to them. */
export function RecordTable(props: { topic: Topic; records: readonly BrowsedRecord[]; empty: ComponentChildren }) {
  const at = queryOf("at");
  const open = props.records.find((one) => idOf(one) === at) ?? null;
  // A live list drops old rows; the open one stays.
  const [kept, setKept] = useState<BrowsedRecord | null>(null);
  useEffect(() => {
    if (open !== null) setKept(open);
  }, [open]);
  const shown = open ?? (kept !== null && idOf(kept) === at ? kept : null);
  const whole = useRef<HTMLDivElement>(null);
  // The list gets the focus. Otherwise the keyboard begins again at the top of the page.
  const close = () => {
    whole.current?.querySelector<HTMLElement>("[data-table]")?.focus();
    setQuery({ at: null });
  };
  const several = props.topic.partitions.length > 1;
  const columns = useMemo(() => columnsOf(several, shown !== null), [several, shown !== null]);
  return (
    <div
      ref={whole}
      class={shown === null ? "records" : "records with-detail"}
      onKeyDown={(event) => {
        if (event.key === "Escape" && shown !== null) {
          event.preventDefault();
          close();
        }
      }}
    >
      <Table
        caption={`Records of ${props.topic.name}`}
        name="records"
        columns={columns}
        rows={props.records}
        rowKey={idOf}
        selected={at === "" ? null : at}
        onOpen={(row) => setQuery({ at: idOf(row) }, {})}
        copy={(row) => ({ ...row, key: row.key?.text ?? null, value: row.value?.text ?? null })}
        empty={props.empty}
        {...(props.records.length > 15 ? { height: "min(64vh, 900px)" } : {})}
      />
      {shown !== null && <Detail record={shown} topic={props.topic.name} onClose={close} />}
    </div>
  );
}

function columnsOf(several: boolean, narrow: boolean): Column<BrowsedRecord>[] {
  return [
    { id: "time", title: "Time", width: 205, wide: true, cell: (row) => (row.timestamp === "-1" ? "none" : formatTime(row.timestamp)) },
    ...(several ? [{ id: "partition", title: "Partition", width: 96, number: true, wide: true, cell: (row: BrowsedRecord) => row.partition }] : []),
    { id: "offset", title: "Offset", width: 96, number: true, cell: (row) => row.offset },
    { id: "key", title: "Key", width: 140, cell: (row) => <Preview row={row} which="key" /> },
    { id: "value", title: "Value", cell: (row) => <Preview row={row} which="value" /> },
    // Next to an open record, its value needs the room.
    ...(narrow
      ? []
      : [
          { id: "format", title: "Format", width: 96, wide: "very" as const, cell: (row: BrowsedRecord) => row.value?.format ?? "" },
          { id: "size", title: "Size", width: 90, number: true, wide: "very" as const, cell: (row: BrowsedRecord) => formatBytes(row.size) },
        ]),
  ];
}

function Preview(props: { row: BrowsedRecord; which: "key" | "value" }) {
  const part = props.row[props.which];
  if (part === null) return <span class="soft">null</span>;
  return <span class="mono">{visible(preview(part))}</span>;
}

function Refused(props: { error: ApiError; seek: Seek }) {
  const at = positionOf(props.error.body);
  return (
    <div class="stack">
      <ErrorPanel error={props.error} />
      {at !== null && props.seek.where !== "" && <Marked where={props.seek.where} at={at} />}
    </div>
  );
}

function Exports(props: { address: string; seek: Seek; onError: (error: ApiError | null) => void }) {
  const [form, setForm] = useState("jsonl");
  const [busy, setBusy] = useState(false);
  const { limit: _, ...query } = placeOf(props.seek);
  const start = async () => {
    setBusy(true);
    props.onError(null);
    try {
      await startDownload(`${props.address}/export`, { ...query, as: form });
    } catch (failed) {
      props.onError(asApiError(failed));
    }
    setBusy(false);
  };
  return (
    <>
      <Select
        label="Format of the export"
        labelHidden
        value={form}
        onChange={setForm}
        options={[
          { value: "jsonl", label: "JSON lines" },
          { value: "csv", label: "CSV" },
          { value: "parquet", label: "Parquet" },
        ]}
      />
      <button type="button" aria-disabled={busy} onClick={() => !busy && void start()}>
        Export
      </button>
    </>
  );
}

function None(props: { topic: Topic; selects: boolean; running: boolean; page: Page }) {
  if (props.selects && props.running) return <p>No record has matched so far.</p>;
  if (props.selects) {
    return <p>{props.page.end ? "No record matches." : "No record of this part matches: continue with the next page."}</p>;
  }
  const hasSome = props.topic.partitions.some((one) => one.records !== "0");
  return (
    <Empty title={hasSome ? "No records here" : "This topic has no records yet"}>
      <p>
        {hasSome
          ? "Nothing is stored at this position: start somewhere else."
          : "Write the first one here, or with any Kafka client."}
      </p>
      <Link to={place.value.path} query={{ tab: "produce" }} class="button">
        Produce a record
      </Link>
    </Empty>
  );
}

export function idOf(record: BrowsedRecord): string {
  return `${record.partition}-${record.offset}`;
}

function useSeek(): Seek {
  const found = { ...SEEK };
  for (const name of Object.keys(SEEK) as (keyof Seek)[]) found[name] = queryOf(name);
  return found;
}

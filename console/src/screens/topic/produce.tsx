// Write a record: key, value, headers, partition and time; with a form if the subject has a schema.
import { useState } from "preact/hooks";
import { asApiError, get, post, type ApiError } from "../../lib/api";
import { useLoad } from "../../lib/load";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Field } from "../../parts/field";
import { Link } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { jsonOf, type TopicForm } from "./form";
import type { Topic } from "./model";
import { PartInput, partOf, startOfPart, type PartState } from "./part_input";

interface Written {
  partition: number;
  offset: string;
}

export function Produce(props: { topic: Topic; onWritten: () => void }) {
  const address = `/v1/topics/${encodeURIComponent(props.topic.name)}`;
  const form = useLoad(`form|${props.topic.name}`, (signal) => get<TopicForm>(`${address}/form`, { signal }));
  if (form.data === null) return form.error ? <ErrorPanel error={form.error} onRetry={form.reload} /> : <Waiting />;
  return <ProduceForm {...props} form={form.data} address={address} />;
}

function ProduceForm(props: { topic: Topic; form: TopicForm; address: string; onWritten: () => void }) {
  const { topic, form } = props;
  const [key, setKey] = useState<PartState>(() => startOfPart(form.key, "STRING"));
  const [value, setValue] = useState<PartState>(() => startOfPart(form.value, "JSON"));
  const [headers, setHeaders] = useState<readonly [string, string][]>([]);
  const [partition, setPartition] = useState("");
  const [timestamp, setTimestamp] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [last, setLast] = useState<Written | null>(null);
  const wrong = [problems(form.key, key), problems(form.value, value)].flat();
  const produce = async () => {
    setBusy(true);
    setError(null);
    try {
      const written = await post<Written>(`${props.address}/records`, {
        key: partOf(form.key, key),
        value: partOf(form.value, value),
        headers: headers.filter(([name]) => name !== ""),
        ...(partition === "" ? {} : { partition }),
        ...(timestamp === "" ? {} : { timestamp }),
      });
      setLast(written);
      props.onWritten();
      toast(`Wrote a record to partition ${written.partition} at offset ${written.offset}`);
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy(false);
  };
  const reason = topic.may.write ? "" : `You have no right to write to this topic: Write on topic ${topic.name}.`;
  return (
    <form
      class="stack produce"
      aria-label="Record to write"
      onSubmit={(event) => {
        event.preventDefault();
        if (reason === "" && !busy && wrong.length === 0) void produce();
      }}
    >
      {form.problem && <p class="soft">The schema registry: {form.problem}</p>}
      <PartInput title="Key" form={form.key} state={key} onState={setKey} formats={form.formats} />
      <PartInput title="Value" form={form.value} state={value} onState={setValue} formats={form.formats} />
      <fieldset class="panel stack">
        <legend>Headers</legend>
        {headers.map(([name, text], at) => (
          <div class="row bottom" key={at}>
            <Field label={`Name of header ${at + 1}`} value={name} onInput={(one) => setHeaders(headers.map((pair, n) => (n === at ? [one, pair[1]] : pair)))} />
            <Field class="grow" label={`Value of header ${at + 1}`} value={text} onInput={(one) => setHeaders(headers.map((pair, n) => (n === at ? [pair[0], one] : pair)))} />
            <button type="button" onClick={() => setHeaders(headers.filter((_, n) => n !== at))}>
              Remove<span class="hidden-text"> header {at + 1}</span>
            </button>
          </div>
        ))}
        <div>
          <button type="button" class="small" onClick={() => setHeaders([...headers, ["", ""]])}>
            Add a header
          </button>
        </div>
      </fieldset>
      <div class="row bottom">
        <Field label="Partition" type="number" value={partition} onInput={setPartition} placeholder="by key" size={8} />
        <Field label="Time in milliseconds" value={timestamp} onInput={setTimestamp} placeholder="now" size={16} />
      </div>
      {error && <ErrorPanel error={error} />}
      <div class="row">
        <ActionButton class="primary" onClick={() => void (wrong.length === 0 && !busy && produce())} reason={reason || (wrong.length > 0 ? wrong.join(" ") : "")}>
          Produce
        </ActionButton>
        <span role="status">
          {last !== null && (
            <>
              Written: <Link to={`/topics/${encodeURIComponent(topic.name)}`} query={{ at: `${last.partition}-${last.offset}` }}>{`partition ${last.partition}, offset ${last.offset}`}</Link>
            </>
          )}
        </span>
      </div>
    </form>
  );
}

function problems(form: TopicForm["key"], state: PartState): string[] {
  if (!state.byForm || form?.fields == null || state.format !== form.format) return [];
  return jsonOf(form.fields, state.typed).problems.map((one) => `${one.path || "value"}: ${one.text}`);
}

// Dialogs that change offsets of a group: reset with a preview, and deletion of a topic's offsets.
import { useState } from "preact/hooks";
import { asApiError, del, post, type ApiError } from "../../lib/api";
import { formatCount, formatTime, visible } from "../../lib/format";
import { figureColumn } from "../../parts/columns";
import { Confirm, Dialog } from "../../parts/dialog";
import { ErrorPanel } from "../../parts/empty";
import { Field, Select } from "../../parts/field";
import { Table, copyText, type Column } from "../../parts/table";
import { toast } from "../../shell/toasts";
import { TARGETS, resetBody, type GroupDetail, type Move, type ResetAnswer, type ResetForm } from "./model";

interface DialogProps {
  group: GroupDetail;
  path: string;
  onClose: () => void;
  onDone: () => void;
}

const columns: readonly Column<Move>[] = [
  { id: "topic", title: "Topic", cell: (one) => visible(one.topic) },
  figureColumn("partition", "Partition", 98, (one) => one.partition, String),
  figureColumn("old", "Now", 120, (one) => one.old, formatCount),
  figureColumn("new", "After", 140, (one) => one.new, formatCount, {
    cell: (one) => (
      <>
        {formatCount(one.new)}
        {one.limited && <span class="soft small" title="The wanted offset is out of range: this is the nearest one."> nearest</span>}
      </>
    ),
  }),
  figureColumn("records", "To read", 120, (one) => one.records, formatCount),
];

/** Choose a target, see what would change, then do it. */
export function ResetDialog(props: DialogProps) {
  const { group } = props;
  const [form, setForm] = useState<ResetForm>({ to: "earliest", value: "", topic: "", partitions: "" });
  const [preview, setPreview] = useState<ResetAnswer | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState(false);
  const change = (part: Partial<ResetForm>) => {
    setForm((known) => ({ ...known, ...part }));
    setPreview(null);
    setError(null);
  };
  const found = resetBody(form);
  const problem = "error" in found ? found.error : "";
  const send = async (isPreview: boolean) => {
    setAsked(true);
    if ("error" in found) return;
    setBusy(true);
    setError(null);
    try {
      const { body } = found;
      // The reset moves to what the preview has shown: an hour ago is another time by then.
      const fixed = isPreview || !preview || preview.timeMs === null ? body : { ...(body["topics"] ? { topics: body["topics"] } : {}), to: "time", timeMs: preview.timeMs };
      const answer = await post<ResetAnswer>(`${props.path}/reset`, { ...fixed, preview: isPreview });
      if (isPreview) setPreview(answer);
      else {
        toast(`Reset the offsets of group ${group.group} in ${partitionsText(answer.partitions.length)}`);
        props.onDone();
        props.onClose();
      }
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy(false);
  };
  const moves = preview?.partitions.length ?? 0;
  const ready = preview !== null && preview.refusal === null && moves > 0;
  return (
    <Dialog
      title={`Reset offsets of ${visible(group.group)}`}
      wide
      onClose={props.onClose}
      actions={
        <>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button type="button" disabled={busy} class={ready ? undefined : "primary"} onClick={() => void send(true)}>
            Preview
          </button>
          {ready && (
            <button type="button" class="primary" disabled={busy} onClick={() => void send(false)}>
              Reset {partitionsText(moves)}
            </button>
          )}
        </>
      }
    >
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void send(true);
        }}
      >
        <ResetFields form={form} topics={topicsOf(group)} onChange={change} problem={asked ? problem : ""} />
        <button type="submit" class="hidden-text" tabIndex={-1} aria-hidden="true">
          Preview
        </button>
      </form>
      <div aria-live="polite" class="stack">
        {preview !== null && <Preview answer={preview} />}
      </div>
      {error !== null && <ErrorPanel error={error} />}
    </Dialog>
  );
}

function ResetFields(props: {
  form: ResetForm;
  topics: string[];
  onChange: (part: Partial<ResetForm>) => void;
  problem: string;
}) {
  const { form, onChange, problem } = props;
  const label = {
    offset: "Offset",
    time: "Time",
    duration: "Time before now",
    shift: "Records",
  }[form.to];
  const hint = {
    offset: "An offset out of range becomes the nearest retained one.",
    time: "In the time zone of this browser. The first record at or after it is read next.",
    duration: "Such as 30s, 10m, 2h or 7d.",
    shift: "Negative numbers go back, positive ones skip records, such as -100 or 100.",
  }[form.to];
  const ofPartitions = problem.startsWith("Give partitions");
  return (
    <>
      <div class="row bottom">
        <Select
          label="Topics"
          value={form.topic}
          onChange={(topic) => onChange({ topic, partitions: "" })}
          options={[{ value: "", label: "all with committed offsets" }, ...props.topics]}
        />
        {form.topic !== "" && (
          <Field
            label="Partitions"
            value={form.partitions}
            onInput={(partitions) => onChange({ partitions })}
            placeholder="all"
            error={ofPartitions ? problem : undefined}
          />
        )}
      </div>
      <div class="row starts">
        <Select
          label="Continue at"
          value={form.to}
          onChange={(to) => onChange({ to, value: "" })}
          options={TARGETS}
        />
        {label !== undefined && (
          <Field
            label={label}
            hint={hint}
            type={form.to === "time" ? "datetime-local" : "text"}
            value={form.value}
            onInput={(value) => onChange({ value })}
            error={!ofPartitions && problem !== "" ? problem : undefined}
          />
        )}
      </div>
    </>
  );
}

function Preview(props: { answer: ResetAnswer }) {
  const { answer } = props;
  return (
    <>
      {answer.refusal !== null && (
        <div class="error-panel" role="alert">
          {visible(answer.refusal)}
        </div>
      )}
      <h3>Offsets now and after the reset</h3>
      {answer.timeMs !== null && (
        <p class="soft flat">The group continues with the first record from {formatTime(answer.timeMs)} on.</p>
      )}
      <Table
        caption="Offsets now and after the reset"
        columns={columns}
        rows={answer.partitions}
        rowKey={(one) => `${one.topic}-${one.partition}`}
        {...(answer.partitions.length > 8 ? { height: "300px" } : {})}
        empty="Nothing to reset: the group has no committed offsets there. Choose a topic."
      />
      {answer.unchanged.length > 0 && (
        <p class="soft">
          Not changed, because they have no committed offset:{" "}
          {visible(answer.unchanged.map(([topic, number]) => `${topic}-${number}`).join(", "))}
        </p>
      )}
      <div class="row">
        <code class="break grow">{answer.command}</code>
        <button type="button" class="small" onClick={() => void copyText(answer.command)}>
          Copy the command
        </button>
      </div>
    </>
  );
}

/** Delete the committed offsets of one topic. */
export function OffsetsDialog(props: DialogProps) {
  const topics = topicsOf(props.group);
  const [topic, setTopic] = useState(topics[0] ?? "");
  return (
    <Confirm
      title={`Delete offsets of ${visible(props.group.group)}`}
      action={`Delete offsets of ${visible(topic)}`}
      danger
      onClose={props.onClose}
      onConfirm={async () => {
        await del(`${props.path}/offsets`, { body: { topics: [{ topic }] } });
        toast(`Deleted the offsets of ${topic}`);
        props.onDone();
      }}
    >
      <p>The group forgets its position in this topic. Members that read it must be stopped first.</p>
      <Select label="Topic" value={topic} onChange={setTopic} options={topics} />
    </Confirm>
  );
}

function partitionsText(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "partition" : "partitions"}`;
}

function topicsOf(group: GroupDetail): string[] {
  return [...new Set(group.partitions.map((one) => one.topic))].sort();
}

// The dialog that creates a topic.
import { useState } from "preact/hooks";
import { asApiError, post, type ApiError } from "../../lib/api";
import { Dialog } from "../../parts/dialog";
import { ErrorPanel } from "../../parts/empty";
import { Field, Select, TextArea } from "../../parts/field";
import { navigate } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { problemOfName } from "./model";

export function CreateTopic(props: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("1");
  const [replication, setReplication] = useState("");
  const [policy, setPolicy] = useState("");
  const [more, setMore] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const problem = problemOfName(name);
  const create = async () => {
    setBusy(true);
    setError(null);
    try {
      const configs = { ...(policy === "" ? {} : { "cleanup.policy": policy }), ...settingsOf(more) };
      await post("/v1/topics", { name, partitions, ...(replication === "" ? {} : { replication }), configs });
      toast(`Created topic ${name}`);
      navigate(`/topics/${encodeURIComponent(name)}`);
    } catch (failed) {
      setError(asApiError(failed));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Create a topic" onClose={props.onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <p class="soft">
          A topic is a log of records, each with a key, a value and a time. Records with the same key stay in order, in one
          partition. More partitions let more consumers read at once; replicas are copies on other brokers.
        </p>
        <Field label="Name" value={name} onInput={setName} autofocus required error={problem} />
        <div class="row bottom">
          <Field label="Partitions" value={partitions} type="number" onInput={setPartitions} required size={6} />
          <Field label="Replicas" value={replication} type="number" placeholder="default" onInput={setReplication} size={12} />
          <Select
            label="Old records are"
            value={policy}
            onChange={setPolicy}
            options={[
              { value: "", label: "treated by the cluster's default" },
              { value: "delete", label: "deleted" },
              { value: "compact", label: "compacted: the last of each key stays" },
              { value: "compact,delete", label: "compacted, then deleted" },
            ]}
          />
        </div>
        <TextArea label="Other settings" value={more} onInput={setMore} rows={2} hint="One a line: retention.ms=86400000" />
        {error && <ErrorPanel error={error} />}
        <div class="row end">
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy || name === "" || problem !== ""}>
            Create topic
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Return the settings of lines NAME=VALUE; throws an Error that names the line which is none. */
export function settingsOf(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    if (at <= 0) throw new Error(`“${line}” is not NAME=VALUE`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

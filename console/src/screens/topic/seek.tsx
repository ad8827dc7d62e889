// The form that says which records to read. Its state goes to the address when it is submitted.
import { useEffect, useState } from "preact/hooks";
import { Checkbox, Field, Select } from "../../parts/field";
import { setQuery } from "../../shell/router";
import { FORMATS, fromOf, startOf, type Seek, type StartKind } from "./model";

const KINDS: { value: StartKind; label: string }[] = [
  { value: "newest", label: "Newest first" },
  { value: "beginning", label: "From the beginning" },
  { value: "offset", label: "From an offset" },
  { value: "last", label: "The last N of each partition" },
  { value: "time", label: "From a time" },
];
const VALUES: Record<string, { label: string; hint: string }> = {
  offset: { label: "Offset", hint: "" },
  last: { label: "N", hint: "" },
  time: { label: "Time", hint: "10m, 2h, 2026-11-28 06:30 or milliseconds" },
};

export function SeekForm(props: { seek: Seek; partitions: number; live: boolean }) {
  const { seek } = props;
  const begin = startOf(seek.from, seek.order);
  const [kind, setKind] = useState<StartKind>(begin.kind);
  const [value, setValue] = useState(begin.value);
  const [given, setGiven] = useState(seek);
  const [wrong, setWrong] = useState("");
  const [more, setMore] = useState(seek.key_format !== "" || seek.value_format !== "" || seek.isolation !== "" || seek.in !== "");
  // The address may change, for instance by "back". A new form would lose the focus of the keyboard.
  useEffect(() => {
    setKind(begin.kind);
    setValue(begin.value);
    setGiven(seek);
    setWrong("");
  }, [JSON.stringify(seek)]);
  const set = (change: Partial<Seek>) => setGiven({ ...given, ...change });
  const submit = () => {
    const from = fromOf(kind, value);
    if (from === null) {
      setWrong(kind === "time" ? "This is not a time." : "This is not a number.");
      return;
    }
    setWrong("");
    setQuery({ ...given, from, order: "", cursor: null, at: null }, {});
  };
  const typed = VALUES[kind];
  return (
    <form
      class="panel stack seek"
      aria-label="Records to read"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div class="row bottom">
        {!props.live && (
          <Select label="Start" value={kind} onChange={(one) => setKind(one as StartKind)} options={KINDS} />
        )}
        {!props.live && typed !== undefined && (
          <Field label={typed.label} hint={typed.hint} value={value} onInput={setValue} error={wrong} size={20} />
        )}
        <Select
          label="Partition"
          value={given.partition}
          onChange={(partition) => set({ partition })}
          options={[{ value: "", label: "All" }, ...Array.from({ length: props.partitions }, (_, at) => String(at))]}
        />
        {!props.live && (
          <Select
            label="Rows"
            value={given.limit}
            onChange={(limit) => set({ limit })}
            options={[{ value: "", label: "50" }, "100", "200", "500", "1000"]}
          />
        )}
        <Field class="grow" label="Search text" value={given.search} type="search" search onInput={(search) => set({ search })} placeholder="in key, value and headers" />
      </div>
      <div class="row bottom">
        <Field
          class="grow"
          label="Where (SQL)"
          value={given.where}
          onInput={(where) => set({ where })}
          placeholder="value->amount > 5 AND key LIKE 'a%'"
          mono
        />
        <button type="submit" class="primary">
          {props.live ? "Apply" : "Read"}
        </button>
        <button type="button" aria-pressed={props.live} onClick={() => setQuery({ live: props.live ? null : "true", cursor: null, at: null }, {})}>
          {props.live ? "Stop live" : "Live"}
        </button>
        <button type="button" class="plain" aria-expanded={more} onClick={() => setMore(!more)}>
          Options
        </button>
      </div>
      {more && (
        <div class="row bottom">
          <Select label="Keys are" value={given.key_format || "AUTO"} onChange={(one) => set({ key_format: one === "AUTO" ? "" : one })} options={OPTIONS} />
          <Select label="Values are" value={given.value_format || "AUTO"} onChange={(one) => set({ value_format: one === "AUTO" ? "" : one })} options={OPTIONS} />
          <Select
            label="Search in"
            value={given.in}
            onChange={(parts) => set({ in: parts })}
            options={[
              { value: "", label: "key, value and headers" },
              { value: "key", label: "key" },
              { value: "value", label: "value" },
              { value: "headers", label: "headers" },
            ]}
          />
          <Checkbox
            label="Show aborted and open transactions"
            checked={given.isolation === "read_uncommitted"}
            onChange={(on) => set({ isolation: on ? "read_uncommitted" : "" })}
          />
        </div>
      )}
    </form>
  );
}

const OPTIONS = FORMATS.map((one) => (one === "AUTO" ? { value: one, label: "detected" } : one));

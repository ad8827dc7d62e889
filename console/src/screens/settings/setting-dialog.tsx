// One setting: documentation, where it is set, and its change.
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../lib/api";
import { visible } from "../../lib/format";
import { Dialog } from "../../parts/dialog";
import { ErrorPanel } from "../../parts/empty";
import { ActionButton, Field, Select } from "../../parts/field";
import { meaning, shownValue, type Setting } from "./values";

export function SettingDialog(props: {
  setting: Setting;
  of: string;
  /** Id of the broker, or name of the topic; empty for all brokers. */
  name: string;
  mayChange: boolean;
  onClose: () => void;
  /** `name` is empty for all brokers. */
  onChange: (value: string | null, name: string) => Promise<void>;
}) {
  const { setting } = props;
  const [value, setValue] = useState(setting.sensitive ? "" : (setting.value ?? ""));
  const [name, setName] = useState(props.name);
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const change = async (next: string | null) => {
    setBusy(true);
    setError(null);
    try {
      await props.onChange(next, name);
    } catch (failed) {
      setError(asApiError(failed));
      setBusy(false);
    }
  };
  const isSet = isSetAt(setting, props.of, name);
  return (
    <Dialog title={visible(setting.name)} onClose={props.onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void change(value);
        }}
      >
        {setting.documentation !== "" && <p class="flat">{visible(setting.documentation)}</p>}
        <dl class="facts">
          <dt>Value</dt>
          <dd>
            {shownValue(setting, setting.value)} <span class="soft">{meaning(setting.name, setting.value)}</span>
          </dd>
          <dt>Set by</dt>
          <dd>{setting.source}</dd>
          <dt>Default</dt>
          <dd>
            {shownValue(setting, setting.default)} <span class="soft">{meaning(setting.name, setting.default)}</span>
          </dd>
          <dt>Type</dt>
          <dd>{setting.type}</dd>
          {setting.places.length > 1 && (
            <>
              <dt>Set in</dt>
              <dd>
                {setting.places.map((one) => (
                  <div key={`${one.source}\n${one.name}`}>
                    {one.source}: <code>{visible(one.name)}</code> = {shownValue(setting, one.value)}
                  </div>
                ))}
              </dd>
            </>
          )}
        </dl>
        {reasonOf(props) === "" ? (
          <>
            {setting.type === "boolean" ? (
              <Select label="New value" value={value} onChange={setValue} options={["true", "false"]} />
            ) : (
              <Field
                label="New value"
                type={setting.sensitive ? "password" : "text"}
                value={value}
                onInput={setValue}
                autofocus
                mono
                hint={meaning(setting.name, value) || undefined}
              />
            )}
            {props.of === "broker" && props.name !== "" && (
              <Select
                label="For"
                value={name}
                onChange={setName}
                options={[
                  { value: props.name, label: `Broker ${props.name}` },
                  { value: "", label: "All brokers" },
                ]}
              />
            )}
            {error && <ErrorPanel error={error} />}
            <div class="row end">
              <ActionButton
                onClick={() => void change(null)}
                reason={isSet ? undefined : "It is not set here, so there is nothing to reset."}
              >
                Reset to the default
              </ActionButton>
              <button type="submit" class="primary" disabled={busy || (!setting.sensitive && value === (setting.value ?? ""))}>
                Change
              </button>
            </div>
          </>
        ) : (
          <>
            <p class="flat soft">{reasonOf(props)}</p>
            <div class="row end">
              <button type="button" onClick={props.onClose}>
                Close
              </button>
            </div>
          </>
        )}
      </form>
    </Dialog>
  );
}

function reasonOf(props: { setting: Setting; of: string; mayChange: boolean }): string {
  if (props.of === "server") {
    return "Properties of the server are set when it starts. A SET statement changes one for the statements after it.";
  }
  if (!props.setting.dynamic) return "This setting is read when the broker starts, and cannot be changed at run time.";
  if (!props.mayChange) return "You have no right to change these settings.";
  return "";
}

/** Return whether a change at run time has set a value for this topic, this broker or all brokers. */
function isSetAt(setting: Setting, of: string, name: string): boolean {
  const source = of === "topic" ? "topic" : name === "" ? "all brokers" : "broker";
  return setting.places.some((one) => one.source === source);
}

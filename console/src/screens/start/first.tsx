// The first steps of a new user: three buttons.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { asApiError, type ApiError } from "../../lib/api";
import { ErrorPanel } from "../../parts/empty";
import { ActionButton } from "../../parts/field";
import { navigate } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { reasonOf, startDemo, useDemo } from "./demo";
import { hasScreen } from "./links";

/** `onHide`: for readers who know the steps. */
export function FirstSteps(props: { title: string; onHide?: () => void }) {
  const demo = useDemo();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const load = async () => {
    setBusy(true);
    setError(null);
    try {
      await startDemo();
      toast("The flights demo runs");
    } catch (failed) {
      setError(asApiError(failed));
    }
    setBusy(false);
  };
  const reason = busy ? "The demo is being started." : reasonOf(demo);
  return (
    <section class="stack" aria-labelledby="first-title">
      <div class="row ends">
        <h2 id="first-title">{props.title}</h2>
        {props.onHide && (
          <button class="small" onClick={props.onHide}>
            Hide these steps
          </button>
        )}
      </div>
      {error && <ErrorPanel error={error} />}
      <div class="panels steps">
        <Step title="See it move" text="A year of real flights arrives, is joined with airlines and airports, and counted in two live tables.">
          <ActionButton class="primary" onClick={() => void load()} reason={reason}>
            Load the flights demo
          </ActionButton>
        </Step>
        <Step title="Write records" text="A topic keeps records in order. Kafka clients write to it and read from it, and so can you, here.">
          <ActionButton onClick={() => navigate("/topics", { create: "true" })} reason={missing("/topics")}>
            Create a topic
          </ActionButton>
        </Step>
        <Step title="Ask in SQL" text="Declare streams and tables over topics, and run queries whose results change as records arrive.">
          <ActionButton onClick={() => navigate("/sql")} reason={missing("/sql")}>
            Open the SQL editor
          </ActionButton>
        </Step>
      </div>
    </section>
  );
}

function missing(path: string): string {
  return hasScreen(path) ? "" : "This build of the console has no such screen.";
}

function Step(props: { title: string; text: string; children: ComponentChildren }) {
  return (
    <div class="panel stack step">
      <h3>{props.title}</h3>
      <p class="grow">{props.text}</p>
      <div>{props.children}</div>
    </div>
  );
}

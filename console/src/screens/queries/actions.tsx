// Pause, resume and terminate a persistent query, each after a question.
import { useState } from "preact/hooks";
import { runStatements, sqlName } from "../../lib/statements";
import { Confirm } from "../../parts/dialog";
import { ActionButton } from "../../parts/field";
import { toast } from "../../shell/toasts";
import type { Query } from "./figures";

type Verb = "PAUSE" | "RESUME" | "TERMINATE";

const DONE: Record<Verb, string> = { PAUSE: "Paused", RESUME: "Resumed", TERMINATE: "Terminated" };

/** The buttons of a query; `onDone` is called after its state has changed. */
export function QueryActions(props: {
  query: Pick<Query, "id" | "state" | "sink" | "mayChange">;
  onDone: (verb: Verb) => void;
  small?: boolean;
}) {
  const { id, state, sink, mayChange } = props.query;
  const [asked, setAsked] = useState<Verb | null>(null);
  const reason = mayChange ? undefined : `You have no right to change query ${id}: Alter on ${sink}.`;
  const small = props.small === true ? "small" : "";
  const run = async (verb: Verb) => {
    await runStatements(`${verb} ${sqlName(id)};`);
    toast(`${DONE[verb]}: ${id}`);
    props.onDone(verb);
  };
  const moves: Verb = state === "PAUSED" ? "RESUME" : "PAUSE";
  return (
    <span class="row nowrap actions">
      <ActionButton class={small} reason={reason} onClick={() => setAsked(moves)}>
        {moves === "PAUSE" ? "Pause" : "Resume"}
        <span class="hidden-text"> {id}</span>
      </ActionButton>
      <ActionButton class={`danger ${small}`} reason={reason} onClick={() => setAsked("TERMINATE")}>
        Terminate
        <span class="hidden-text"> {id}</span>
      </ActionButton>
      {asked !== null && (
        <Confirm
          title={TITLES[asked](id)}
          action={ACTIONS[asked]}
          danger={asked === "TERMINATE"}
          onConfirm={() => run(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{EXPLAINED[asked](sink)}</p>
        </Confirm>
      )}
    </span>
  );
}

const ACTIONS: Record<Verb, string> = {
  PAUSE: "Pause the query",
  RESUME: "Resume the query",
  TERMINATE: "Terminate the query",
};

const TITLES: Record<Verb, (id: string) => string> = {
  PAUSE: (id) => `Pause ${id}?`,
  RESUME: (id) => `Resume ${id}?`,
  TERMINATE: (id) => `Terminate ${id}?`,
};

const EXPLAINED: Record<Verb, (sink: string) => string> = {
  PAUSE: (sink) => `${sink} gets no results until the query is resumed. It then continues where it stopped.`,
  RESUME: (sink) => `The query continues where it stopped, and writes to ${sink} again.`,
  TERMINATE: (sink) =>
    `The query stops for good, and its state is deleted. ${sink} and its records stay. To start it again, run its statement.`,
};

// A short state: its colour is never the only sign.
import type { ComponentChildren } from "preact";

export type Tone = "good" | "warn" | "bad" | "info" | "plain";

const SIGNS: Record<Tone, string> = { good: "●", warn: "▲", bad: "✕", info: "◆", plain: "○" };

export function Badge(props: { tone?: Tone; children: ComponentChildren; title?: string | undefined }) {
  const tone = props.tone ?? "plain";
  return (
    <span class={`badge ${tone}`} title={props.title}>
      <span aria-hidden="true">{SIGNS[tone]}</span> {props.children}
    </span>
  );
}

/** Return the tone of a state of a query, group or connection. */
export function toneOf(state: string): Tone {
  const name = state.toUpperCase();
  if (["RUNNING", "STABLE", "ACTIVE", "UP", "HEALTHY"].includes(name)) return "good";
  if (["ERROR", "FAILED", "DEAD", "UNRESPONSIVE", "DOWN"].includes(name)) return "bad";
  if (["PAUSED", "REBALANCING", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "ASSIGNING", "RECONCILING", "STARTING"].includes(name.replace(/ /g, "_"))) return "warn";
  return "plain";
}

// Tabs: one of them is in the order of Tab; arrows, Home and End move between them (the pattern of ARIA).
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

export interface TabItem {
  id: string;
  label: ComponentChildren;
}

/** A row of tabs, and the panel of the one that is shown. */
export function Tabs(props: {
  /** What is chosen by the tabs. */
  label: string;
  tabs: readonly TabItem[];
  shown: string;
  onShow: (id: string) => void;
  children: ComponentChildren;
  /** With one tab only, there is nothing to choose: the panel alone is shown. */
  hideOne?: boolean;
  class?: string;
}) {
  const id = useId();
  const row = useRef<HTMLDivElement>(null);
  const go = (to: number) => {
    const next = props.tabs[to];
    if (next === undefined) return;
    props.onShow(next.id);
    row.current?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent, at: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = props.tabs.length - 1;
    if (event.key === "ArrowRight") go(at === last ? 0 : at + 1);
    else if (event.key === "ArrowLeft") go(at === 0 ? last : at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(last);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (props.hideOne === true && props.tabs.length < 2) return <>{props.children}</>;
  return (
    <>
      <div class={`sql-tabs ${props.class ?? ""}`} role="tablist" aria-label={props.label} ref={row}>
        {props.tabs.map((one, at) => (
          <button
            key={one.id}
            role="tab"
            id={`${id}-${one.id}`}
            aria-selected={one.id === props.shown}
            aria-controls={one.id === props.shown ? `${id}-panel` : undefined}
            tabIndex={one.id === props.shown ? 0 : -1}
            onClick={() => props.onShow(one.id)}
            onKeyDown={(event) => onKeyDown(event, at)}
          >
            {one.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${props.shown}`}>
        {props.children}
      </div>
    </>
  );
}

// Links to screens that this build has.
import type { ComponentChildren } from "preact";
import { Link, match } from "../../shell/router";
import { screens } from "../index";

/** Return whether a path is one of a screen. */
export function hasScreen(path: string): boolean {
  return match(screens, path) !== null;
}

/** A link if there is such a screen, otherwise its content. */
export function LinkIf(props: { to: string; label?: string; children: ComponentChildren }) {
  if (!hasScreen(props.to)) return <>{props.children}</>;
  return (
    <Link to={props.to} {...(props.label === undefined ? {} : { label: props.label })}>
      {props.children}
    </Link>
  );
}

// Figures that change all the time, read out no more often than people can listen.
import { useEffect, useRef, useState } from "preact/hooks";

const EVERY_MS = 10_000;

/** Read `state` and `text` out when the state changes, and every ten seconds if the text has changed. */
export function Spoken(props: { state: string; text: string }) {
  const now = useRef("");
  now.current = `${props.state}: ${props.text}`;
  const [said, say] = useState("");
  useEffect(() => {
    say(now.current);
    const timer = setInterval(() => say(now.current), EVERY_MS);
    return () => clearInterval(timer);
  }, [props.state]);
  return (
    <span class="hidden-text" role="status">
      {said}
    </span>
  );
}

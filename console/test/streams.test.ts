import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { readEvents } from "../src/lib/events";
import { readLines } from "../src/lib/lines";

function body(...pieces: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      controller.close();
    },
  });
}

async function all<T>(made: AsyncGenerator<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of made) found.push(one);
  return found;
}

test("lines are found wherever the pieces are cut", async () => {
  const bytes = new TextEncoder().encode("ä\r\nb\n\nc");
  const pieces = [...bytes].map((byte) => new Uint8Array([byte]));

  assert.deepEqual(await all(readLines(body(...pieces))), ["ä", "b", "", "c"]);
});

test("events have a name, data of several lines, and an id; heartbeats are left out", async () => {
  const text = ': heartbeat\n\nevent: changed\nid: 7\ndata: {"n":9223372036854775807}\n\ndata: a\ndata: b\n\n';

  assert.deepEqual(await all(readEvents(body(text.slice(0, 20), text.slice(20)))), [
    { type: "changed", data: { n: "9223372036854775807" }, id: "7" },
    { type: "message", data: "a\nb", id: "7" },
  ]);
});

// Work that grows with the square of the length would take hours here.
test("a long line in many pieces takes time linear in its length", { timeout: 120_000 }, async () => {
  const piece = new Uint8Array(4096).fill(120);
  let left = 20_000;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await setImmediate(); // The time limit of the test needs a turn.
      if (left-- > 0) controller.enqueue(piece);
      else controller.close();
    },
  });

  const [line] = await all(readLines(body));

  assert.equal(line!.length, 20_000 * 4096);
});

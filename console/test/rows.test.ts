import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { openRows, type RowStream } from "../src/lib/rows";

const encoder = new TextEncoder();
const open: RowStream[] = [];

afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
  mock.restoreAll();
});

/** Answer the next request with lines that a test writes. */
function server() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  mock.method(globalThis, "fetch", async () => new Response(body));
  return {
    write: (...lines: string[]) => controller.enqueue(encoder.encode(lines.map((line) => `${line}\n`).join(""))),
    end: () => controller.close(),
  };
}

function started(options: { rate?: number; sample?: boolean }) {
  const rows: unknown[] = [];
  let ended!: (error: unknown) => void;
  const end = new Promise<unknown>((resolve) => (ended = resolve));
  const stream = openRows("/x", { ...options, onRows: (more) => rows.push(...more), onEnd: ended });
  open.push(stream);
  return { rows, stream, end };
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => String(n));

test("all rows arrive in their order, without loss of digits", async () => {
  const { write, end: close } = server();
  const { rows, end, stream } = started({ rate: Infinity });
  write('{"n":9223372036854775807}', "", "[1.10]");
  close();

  assert.equal(await end, null);
  assert.deepEqual(rows, [{ n: "9223372036854775807" }, ["1.10"]]);
  assert.deepEqual(stream.counts, { received: 2, shown: 2, dropped: 0 });
});

test("with a sample, what exceeds the rate is counted and not shown", async () => {
  const { write, end: close } = server();
  const { rows, end, stream } = started({ rate: 50, sample: true });
  write(...numbers(500));
  close();

  assert.equal(await end, null);
  assert.equal(stream.counts.received, 500);
  assert.equal(stream.counts.shown + stream.counts.dropped, 500);
  assert.equal(rows.length, stream.counts.shown);
  assert.ok(stream.counts.dropped >= 400, JSON.stringify(stream.counts));
});

test("while rows are paused, none is shown and the answer is not read on; then nothing is missing", async () => {
  const { write, end: close } = server();
  const { rows, end, stream } = started({ rate: Infinity });
  stream.pause();
  write(...numbers(3000));
  close();
  // More than one round of the timer that shows rows.
  await new Promise((resolve) => setTimeout(resolve, 250));
  assert.equal(rows.length, 0);
  assert.ok(stream.counts.received <= 1, String(stream.counts.received));

  stream.resume();

  assert.equal(await end, null);
  assert.deepEqual(rows, numbers(3000).map(Number));
});

test("a refused request ends the rows with the error of the server", async () => {
  const body = '{"error_code":40001,"message":"line 1:8: no column X","hint":"Use Y."}';
  mock.method(globalThis, "fetch", async () => new Response(body, { status: 400 }));

  const error = (await started({}).end) as { message: string; hint: string; code: number; status: number };

  assert.deepEqual([error.message, error.hint, error.code, error.status], [
    "line 1:8: no column X",
    "Use Y.",
    40001,
    400,
  ]);
});

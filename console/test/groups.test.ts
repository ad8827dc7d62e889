import assert from "node:assert/strict";
import { test } from "node:test";
import { softwareOf, userOf, type Client } from "../src/screens/clients/model";
import {
  deleteReason,
  durationMs,
  linePoints,
  resetBody,
  resetReason,
  type GroupDetail,
  type ResetForm,
} from "../src/screens/groups/model";

const form = (part: Partial<ResetForm>): ResetForm => ({ to: "earliest", value: "", topic: "", partitions: "", ...part });

test("a reset has the number that belongs to its target", () => {
  assert.deepEqual(resetBody(form({})), { body: { to: "earliest" } });
  assert.deepEqual(resetBody(form({ to: "offset", value: " 9223372036854775807 " })), {
    body: { to: "offset", offset: "9223372036854775807" },
  });
  assert.deepEqual(resetBody(form({ to: "shift", value: "-5" })), { body: { to: "shift", by: "-5" } });
  assert.deepEqual(resetBody(form({ to: "duration", value: "2h" })), { body: { to: "duration", durationMs: 7_200_000 } });
  const at = new Date("2026-11-28T06:30").getTime();
  assert.deepEqual(resetBody(form({ to: "time", value: "2026-11-28T06:30" })), { body: { to: "time", timeMs: at } });
});

test("a reset names a topic and its partitions", () => {
  assert.deepEqual(resetBody(form({ topic: "orders" })), { body: { to: "earliest", topics: [{ topic: "orders" }] } });
  assert.deepEqual(resetBody(form({ topic: "orders", partitions: "0, 2" })), {
    body: { to: "earliest", topics: [{ topic: "orders", partitions: [0, 2] }] },
  });
});

test("a form that is not complete says what is missing", () => {
  for (const wrong of [
    { to: "offset" },
    { to: "offset", value: "-1" },
    { to: "offset", value: "1e3" },
    { to: "shift", value: "+5" },
    { to: "time", value: "yesterday" },
    { to: "duration", value: "soon" },
    { topic: "orders", partitions: "0,x" },
  ]) {
    assert.ok("error" in resetBody(form(wrong)), JSON.stringify(wrong));
  }
});

test("durations have a number and a unit", () => {
  assert.equal(durationMs("30s"), 30_000);
  assert.equal(durationMs(" 7 D "), 604_800_000);
  assert.equal(durationMs("10"), null);
  assert.equal(durationMs("-1h"), null);
});

test("a line goes from the first sample to the last, with zero at its bottom", () => {
  assert.equal(linePoints([[0, "1"]], 100, 20), "");
  assert.equal(linePoints([[0, "0"], [500, "5"], [1000, "10"]], 102, 22), "1.0,21.0 51.0,11.0 101.0,1.0");
  assert.equal(linePoints([[5, "0"], [5, "0"]], 102, 22), "1.0,21.0 1.0,21.0");
});

test("a button that cannot be used has a reason", () => {
  const group = { group: "g", members: 0, may: { reset: true, delete: true }, resetRefusal: null } as GroupDetail;
  assert.deepEqual([resetReason(group), deleteReason(group)], ["", ""]);
  const busy = { ...group, members: 2, resetRefusal: "Group g has 2 members" };
  assert.equal(resetReason(busy), "Group g has 2 members");
  assert.match(deleteReason(busy), /has members/);
  const other = { ...busy, may: { reset: false, delete: false } };
  assert.match(resetReason(other), /no right to READ/);
  assert.match(deleteReason(other), /no right to DELETE/);
});

test("clients are named by software and user, if they say", () => {
  const client = { software: "librdkafka", softwareVersion: "2.11.0", user: "User:ann" } as Client;
  assert.deepEqual([softwareOf(client), userOf(client)], ["librdkafka 2.11.0", "ann"]);
  const quiet = { software: null, softwareVersion: null, user: "User:ANONYMOUS" } as Client;
  assert.deepEqual([softwareOf(quiet), userOf(quiet)], ["", ""]);
});

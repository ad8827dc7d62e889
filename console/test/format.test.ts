import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDuration,
  formatRate,
  formatTime,
  visible,
} from "../src/lib/format";

test("times are in the zone of the reader", () => {
  assert.equal(formatTime(1_700_000_000_123, "UTC"), "2023-11-14 22:13:20.123");
  assert.equal(formatTime("1700000000123", "Asia/Tokyo"), "2023-11-15 07:13:20.123");
  assert.equal(formatTime(-1, "UTC"), "1969-12-31 23:59:59.999");
  assert.equal(formatTime(null, "UTC"), "");
  assert.equal(formatTime("9223372036854775807", "UTC"), "9223372036854775807");
});

test("durations have at most two units", () => {
  assert.equal(formatDuration(250), "250 ms");
  assert.equal(formatDuration(12_000), "12 s");
  assert.equal(formatDuration(200_000), "3 min 20 s");
  assert.equal(formatDuration(187_200_000), "2 d 4 h");
  assert.equal(formatDuration(63_072_000_000 + 86_400_000), "2 y 1 d");
  assert.equal(formatDuration(null), "");
  assert.equal(formatAgo(1000, 61_000), "1 min ago");
  assert.equal(formatAgo(61_000, 1000), "in 1 min");
});

test("sizes, counts and rates keep their digits", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1536), "1.5 KiB");
  assert.equal(formatBytes("10485760"), "10 MiB");
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatCount("9223372036854775807"), "9,223,372,036,854,775,807");
  assert.equal(formatCount("-1234"), "-1,234");
  assert.equal(formatRate(0.25), "0.25/s");
  assert.equal(formatRate(12_345.6), "12,346/s");
});

test("characters that hide or reorder text become visible", () => {
  assert.equal(visible("a\u202eb\u0000c\u001b[31m\u200b"), "a\\u202eb\\u0000c\\u001b[31m\\u200b");
  assert.equal(visible("line\n\ttab é 日本 <b>"), "line\n\ttab é 日本 <b>");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { prettyJson } from "../src/lib/pretty-json";
import { referencesOf } from "../src/screens/schema/api";
import { choiceOf, choices, meaning, shownValue, type Setting } from "../src/screens/settings/values";
import { asRequest, EMPTY, problemOf, qualified, rulesOf, sentence, spread } from "../src/screens/users/rules";

test("JSON gets line breaks, and nothing else changes", () => {
  const given = '{"name":"a,b:{}","default":12345678901234567890,"x":[1.10,[],{}],"e":"\\u0041\\""}';
  const shown = prettyJson(given);

  assert.equal(
    shown,
    '{\n  "name": "a,b:{}",\n  "default": 12345678901234567890,\n  "x": [\n    1.10,\n    [],\n    {}\n  ],\n  "e": "\\u0041\\""\n}',
  );
  assert.equal(shown.replace(/\n */g, "").replaceAll('": ', '":'), given);
  assert.equal(prettyJson('"string"'), '"string"');
  assert.equal(prettyJson("syntax = proto3"), "syntax = proto3");
  for (const value of [{ a: [{ b: 1 }, 2], c: null }, [], {}, [[["x"]]], "text", -1.5e10]) {
    assert.equal(prettyJson(JSON.stringify(value)), JSON.stringify(value, null, 2));
  }
});

test("references are a list of names, subjects and versions", () => {
  assert.deepEqual(referencesOf(" "), []);
  assert.deepEqual(referencesOf('[{"name":"P","subject":"p","version":1,"more":2}]'), [
    { name: "P", subject: "p", version: 1 },
  ]);
  for (const text of ["{", "{}", '[{"name":"P"}]', '[{"name":"P","subject":"p","version":"1"}]', "[null]"]) {
    assert.throws(() => referencesOf(text), Error);
  }
});

test("a producer, a consumer and a user of SQL get the rules that they need", () => {
  const form = { ...EMPTY, principal: "User:ann", topic: "orders", group: "g", transactionalId: "t", source: "TOTALS" };
  const said = (purpose: "producer" | "consumer" | "sql", more = {}) =>
    rulesOf({ ...form, purpose, ...more }).flatMap(spread).map(sentence);

  assert.deepEqual(said("producer"), [
    "User:ann may WRITE topic orders",
    "User:ann may DESCRIBE topic orders",
    "User:ann may WRITE transactional id t",
    "User:ann may DESCRIBE transactional id t",
  ]);
  assert.deepEqual(said("consumer", { prefix: true }), [
    "User:ann may READ every topic whose name starts with orders",
    "User:ann may DESCRIBE every topic whose name starts with orders",
    "User:ann may READ every group whose name starts with g",
  ]);
  assert.deepEqual(said("sql", { topic: "" }), ["User:ann may READ stream or table default_.TOTALS"]);
  assert.deepEqual(said("sql", { mayCreate: true }), [
    "User:ann may READ stream or table default_.TOTALS",
    "User:ann may CREATE stream or table default_.TOTALS",
    "User:ann may READ topic orders",
    "User:ann may WRITE topic orders",
  ]);
});

test("one rule may deny, and a rule about the cluster has no name of the reader", () => {
  const form = { ...EMPTY, purpose: "one" as const, principal: "Role:ops", permission: "deny", prefix: true };
  const [rules] = rulesOf({ ...form, resource: "cluster", operation: "ALTER", name: "x", host: "10.0.0.7" });
  assert.deepEqual(rules, {
    principals: ["Role:ops"],
    operations: ["ALTER"],
    resource: "cluster",
    name: "kafka-cluster",
    pattern: "literal",
    permission: "deny",
    host: "10.0.0.7",
  });
  const [rule] = spread(rules!);
  assert.equal(sentence(rule!), "Role:ops may not ALTER the cluster, from 10.0.0.7");
  assert.deepEqual(asRequest(rule!), rules);
});

test("an incomplete form says what is missing", () => {
  assert.match(problemOf({ ...EMPTY, principal: "ann", topic: "a" }), /User:NAME/);
  assert.match(problemOf({ ...EMPTY, principal: "User:" }), /User:NAME/);
  assert.notEqual(problemOf({ ...EMPTY, principal: "User:ann" }), "");
  assert.notEqual(problemOf({ ...EMPTY, principal: "User:ann", group: "g" }), "");
  assert.equal(problemOf({ ...EMPTY, principal: "User:ann", topic: "a" }), "");
  assert.equal(qualified("other.X"), "other.X");
  assert.equal(qualified("*"), "*");
});

const SETTING: Setting = {
  name: "log.retention.ms",
  value: "604800000",
  default: null,
  changed: true,
  source: "start",
  type: "long",
  documentation: "",
  sensitive: false,
  dynamic: true,
  places: [],
};

test("secrets and missing values are said, and units are explained", () => {
  assert.equal(shownValue(SETTING, SETTING.value), "604800000");
  assert.equal(shownValue(SETTING, null), "not set");
  assert.equal(shownValue(SETTING, ""), "empty");
  assert.equal(shownValue({ ...SETTING, sensitive: true }, null), "hidden");
  assert.equal(shownValue({ ...SETTING, sensitive: true, changed: false }, null), "not set");
  assert.equal(meaning("log.retention.ms", "604800000"), "7 d");
  assert.equal(meaning("log.segment.bytes", "1073741824"), "1.0 GiB");
  assert.equal(meaning("log.retention.ms", "-1"), "");
  assert.equal(meaning("num.partitions", "5000"), "");
});

test("a reader without rights on the cluster starts with the server's settings", () => {
  const kinds = { kinds: ["topic", "server"], brokers: [] };
  assert.deepEqual(choiceOf(kinds, "broker", "0"), { of: "server", name: "" });
  assert.deepEqual(choices(kinds).map((one) => one.value), ["topic", "server"]);
  const whole = { kinds: ["broker", "topic", "server"], brokers: [{ id: "3", address: "a:1" }] };
  assert.deepEqual(choiceOf(whole, "", ""), { of: "broker", name: "3" });
  assert.deepEqual(choiceOf(whole, "broker", ""), { of: "broker", name: "" });
});

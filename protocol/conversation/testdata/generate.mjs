// Writes what the published clients make of the event lists beside it. By hand,
// with the packages of e2e installed:
//
//   go test ./protocol/conversation -run Golden -update
//   node protocol/conversation/testdata/generate.mjs
//
// For NAME.events.jsonl (and NAME.base.json, the messages before the run):
//   NAME.messages.json  what the client holds at the end, the events it ends its
//                       run for left out; and whether 0.0.59 says the same
//   NAME.client.json    what it makes of the frames Go wrote: of Replay, and of
//                       CatchUp followed by the rest, for each place to join
import { createRequire } from "node:module";
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../../e2e/package.json"));
const { from, concatMap } = require("rxjs");
const now = require("@ag-ui/client");
const old = require("ag-ui-client-0059");
process.env.SUPPRESS_TRANSFORMATION_WARNINGS = "1";
console.warn = () => {};

const lines = (file) => readFileSync(join(here, file), "utf8").split("\n").filter(Boolean);

// stages: the client's own, in its order. strict adds those that judge order.
function stages(client, strict) {
  const out = [];
  if (client.enforceEvents && strict) out.push(client.enforceEvents());
  out.push(client.transformChunks());
  if (strict) out.push(client.verifyEvents(false));
  return out;
}

// judged: the form of an event, which enforcement of 1.0.0 and the transport of
// 0.0.59 refuse; unknown events are dropped.
function judged(client, events) {
  if (client === old) return events.map((e) => old.EventSchemas.parse(e));
  const out = [];
  let fault;
  for (const e of events) from([e]).pipe(client.enforceEvents()).subscribe({ next: () => out.push(e), error: (x) => { fault = x; } });
  if (fault) throw fault;
  return out;
}

// run feeds events to a client and gives its messages, state and how many events
// it took before it threw, if it did. The client writes into events, so it gets
// copies.
async function run(client, base, events, strict) {
  const agent = { messages: structuredClone(base) };
  const input = { threadId: "t", runId: "r", state: {}, messages: [], tools: [], context: [] };
  let messages = base, state = {}, at = -1, fault;
  const source = from(structuredClone(events)).pipe(concatMap(async (e, i) => { at = i; return e; }));
  const piped = stages(client, strict).reduce((s, stage) => s.pipe(stage), source);
  await new Promise((done) => client.defaultApplyEvents(input, piped, agent, []).subscribe({
    next: (m) => { if (m.messages) messages = m.messages; if (m.state !== undefined) state = m.state; },
    error: (e) => { fault = String(e?.message ?? e); done(); }, complete: done }));
  return { messages, state, fault, at };
}

// lenient leaves out the events that the client throws at, one by one.
async function lenient(client, base, events) {
  const skipped = [];
  let list = [];
  for (const [i, e] of events.entries()) {
    try { if (judged(client, [e]).length) list.push({ i, e }); } catch { skipped.push(i); }
  }
  for (;;) {
    const r = await run(client, base, list.map((x) => x.e), false);
    if (!r.fault) return { ...r, skipped: skipped.sort((a, b) => a - b) };
    skipped.push(list[r.at].i);
    list = list.filter((_, k) => k !== r.at);
  }
}

// legacy says what 0.0.59 makes of it: "same", "other", or "refused".
async function legacy(base, events, messages) {
  try {
    const r = await run(old, base, judged(old, events), true);
    if (r.fault) return "refused";
    return isDeepStrictEqual(JSON.parse(JSON.stringify(r.messages)), messages) ? "same" : "other";
  } catch { return "refused"; }
}

const write = (file, value) => writeFileSync(join(here, file), JSON.stringify(value, null, 1) + "\n");
const plain = (v) => JSON.parse(JSON.stringify(v));

for (const file of readdirSync(here).filter((f) => f.endsWith(".events.jsonl")).sort()) {
  const name = file.slice(0, -".events.jsonl".length);
  const events = lines(file).map((l) => JSON.parse(l));
  const base = existsSync(join(here, name + ".base.json")) ? JSON.parse(readFileSync(join(here, name + ".base.json"))) : [];
  const whole = await lenient(now, base, events);
  const messages = plain(whole.messages);
  const strict = await run(now, base, events, true);
  const legal = !strict.fault;
  write(name + ".messages.json", { skipped: whole.skipped, legal, legacy: await legacy(base, events, messages), state: whole.state, messages });

  if (!existsSync(join(here, name + ".frames.json"))) continue;
  const { replay, joins } = JSON.parse(readFileSync(join(here, name + ".frames.json")));
  const first = { type: "RUN_STARTED", threadId: "t", runId: "r" };
  const last = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
  const again = await run(now, [], [first, ...replay, last], true);
  const out = { replay: { fault: again.fault, messages: plain(again.messages) }, joins: {} };
  for (const { cut, frames } of joins) {
    const rest = events.slice(cut).filter((_, i) => !whole.skipped.includes(cut + i));
    const r = await run(now, base, [events[0], ...frames, ...rest], legal);
    const wanted = legal ? strict : whole;
    const equal = isDeepStrictEqual(plain([r.messages, r.state]), plain([wanted.messages, wanted.state]));
    out.joins[cut] = r.fault ? r.fault : equal ? "same" : { messages: plain(r.messages), state: r.state };
  }
  write(name + ".client.json", out);
}

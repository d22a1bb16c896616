// Holds the .out files of this folder against a published client: the schema of
// each event, the chunk expansion and the order rules, and which messages they
// become. Run by hand, once for each client:
//
//   node check.mjs <folder of @ag-ui/client> [<folder of @ag-ui/core>] [in]
//
// With "in" the .in files are read instead, to see what the client makes of the
// faults. The run is ended as the run's machine ends it: what is open is closed.
// Exits 1 when a client refuses anything.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { createRequire } from "node:module";

const here = path.dirname(fileURLToPath(import.meta.url));
const [clientDir, ...rest] = process.argv.slice(2);
const faults = rest.includes("in");
const coreDir = rest.find((a) => a !== "in");
const load = (dir) => import(pathToFileURL(path.join(dir, "dist/index.mjs")).href);
const client = await load(clientDir);
const core = coreDir ? await load(coreDir) : client;
const require = createRequire(path.join(path.resolve(clientDir), "package.json"));
const { from, lastValueFrom, toArray } = require("rxjs");
const version = JSON.parse(fs.readFileSync(path.join(clientDir, "package.json"))).version;

// 1.0 checks and drops in one step of its pipeline; 0.0.x parses each event.
const check = client.enforceEvents ? [client.enforceEvents()] : [];
const parse = client.enforceEvents ? (e) => e : (e) => core.EventSchemas.parse(e);

// As the machine: runs are joined into one, nothing follows the end, and what is
// open ends before RUN_FINISHED.
function finish(events) {
  const done = [];
  for (const e of events) {
    const over = ["RUN_FINISHED", "RUN_ERROR"].includes(done.at(-1)?.type);
    if (over && !(e.type === "RUN_STARTED" && done.at(-1).type === "RUN_FINISHED")) continue;
    if (over) done.pop();
    else if (e.type !== "RUN_STARTED" || done.length === 0) done.push(e);
  }
  const open = new Map();
  for (const e of done) {
    const key = String(e.type).replace(/_(START|END|STARTED|FINISHED)$/, "") + " " + (e.toolCallId ?? e.messageId ?? e.stepName);
    if (/_START$|^STEP_STARTED$/.test(e.type)) open.set(key, e);
    if (/_END$|^STEP_FINISHED$/.test(e.type)) open.delete(key);
  }
  if (!["RUN_FINISHED", "RUN_ERROR"].includes(done.at(-1)?.type)) return [...done, { type: "RUN_ERROR", message: "cut" }];
  const ends = done.at(-1).type === "RUN_ERROR" ? [] : [...open.values()].map((s) => {
    const end = { type: s.type.replace(/START$/, "END").replace("STARTED", "FINISHED") };
    for (const k of ["messageId", "toolCallId", "stepName", "subagentRunId"]) if (s[k] !== undefined) end[k] = s[k];
    return end;
  });
  return [...done.slice(0, -1), ...ends, done.at(-1)];
}

const messages = async (events) => {
  const agent = new client.HttpAgent({ url: "http://unused.invalid", threadId: "th1" });
  const input = { threadId: "th1", runId: "r1", messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
  const out = await lastValueFrom(client.defaultApplyEvents(input, from(events), agent, []).pipe(toArray()));
  return out.findLast((m) => m.messages)?.messages ?? [];
};

console.warn = () => {};
let bad = 0;
for (const file of fs.readdirSync(here).filter((f) => f.endsWith(faults ? ".in" : ".out")).sort()) {
  const text = fs.readFileSync(path.join(here, file), "utf8");
  const source = fs.readFileSync(path.join(here, file.replace(/\.out$/, ".in")), "utf8");
  if (!client.enforceEvents && /^modern$/m.test(source)) continue; // for 1.0 clients only
  try {
    const lines = text.split("\n").filter((l) => l.startsWith(faults ? "> " : "< ")).map((l) => l.slice(2));
    const events = finish(lines.map((l) => JSON.parse(l))).map(parse);
    const expanded = await lastValueFrom(from(events).pipe(...check, client.transformChunks(), client.verifyEvents(), toArray()));
    const list = client.defaultApplyEvents ? await messages(expanded) : [];
    const ids = list.map((m) => m.id);
    if (new Set(ids).size !== ids.length) throw new Error("two messages of one id: " + ids.join(" "));
    console.log("ok   " + file + "  " + list.map((m) => `${m.id}:${m.role}${m.toolCalls ? "+" + m.toolCalls.map((c) => c.id + c.function.arguments) : ""}=${JSON.stringify(m.content)}`).join(" "));
  } catch (e) {
    bad++;
    console.log("FAIL " + file + "  " + (e.issues ? JSON.stringify(e.issues[0].path) + " " + e.issues[0].message : String(e.message)).slice(0, 160));
  }
}
console.log(`${version}: ${bad} refused`);
process.exit(bad ? 1 : 0);

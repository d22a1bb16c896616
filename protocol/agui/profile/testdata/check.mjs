// Asks the published clients what they accept. Run by hand, see README.md.
//
//   node check.mjs 0.0.45=DIR 0.0.59=DIR 1.0=DIR > accepts.json
//   node check.mjs 0.0.45=DIR 0.0.59=DIR 1.0=DIR streams FILE...
//
// DIR is the folder of that version's @ag-ui/client. The first form writes what
// each version does with each case; the second reads JSON lines
// {"profile", "name", "events"} and fails if a client of that profile dies of one.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { around, cases, streams } from "./cases.mjs";

process.env.SUPPRESS_TRANSFORMATION_WARNINGS = "true";
for (const level of ["warn", "error", "debug"]) console[level] = () => {};

// describe writes a zod schema (3 or 4) as plain data.
function describe(schema) {
  const def = schema._def ?? schema.def;
  const kind = def.typeName?.replace("Zod", "").toLowerCase() ?? def.type;
  const inner = (s, more) => ({ ...describe(s), ...more });
  switch (kind) {
    case "optional": return inner(def.innerType, { optional: true });
    case "nullable": return inner(def.innerType, { null: true });
    case "default": return inner(def.innerType, { optional: true });
    case "effects": {
      const out = describe(def.schema);
      if (out.kind === "string" && !schema.safeParse("").success) out.notEmpty = true;
      return out;
    }
    case "pipe": return describe(def.in);
    case "lazy": return describe(def.getter());
    case "string": case "boolean": return { kind };
    case "number": return { kind, integer: !schema.safeParse(1.5).success, positive: !schema.safeParse(-1).success };
    case "literal": return { kind: "literal", values: [def.value ?? def.values[0]] };
    case "enum": return { kind: "literal", values: def.values ?? Object.values(def.entries) };
    case "nativeenum": return { kind: "literal", values: Object.values(def.values) };
    case "array": return { kind, of: describe(def.type?._def ? def.type : def.element), min: def.minLength?.value ?? (schema.safeParse([]).success ? 0 : 1) };
    case "record": return { kind };
    case "object": {
      const shape = schema.shape;
      const unknown = { strict: "refused", strip: "stripped", passthrough: "kept" }[def.unknownKeys] ?? "stripped";
      return { kind, unknown, fields: Object.fromEntries(Object.keys(shape).map((k) => [k, describe(shape[k])])) };
    }
    case "union": case "discriminatedunion":
      return { kind: "union", tag: def.discriminator, of: [...schema.options].map(describe) };
    case "any": case "unknown": case "custom": return { kind: "any" };
  }
  throw new Error(`a schema of kind ${kind}`);
}

function load(dir) {
  const at = createRequire(path.resolve(dir, "package.json"));
  const version = (name) => {
    let d = path.dirname(at.resolve(name));
    while (!fs.existsSync(path.join(d, "package.json"))) d = path.dirname(d);
    return JSON.parse(fs.readFileSync(path.join(d, "package.json"))).version;
  };
  const client = at(path.resolve(dir));
  let events = at("@ag-ui/core").EventSchemas;
  try { events = at("@ag-ui/core/schemas").EventSchema; } catch { /* before 1.0 */ }
  const schema = {};
  for (const one of events.options) {
    const d = describe(one);
    schema[d.fields.type.values[0]] = d;
  }
  return { client, schema, versions: { client: version(path.resolve(dir)), core: version("@ag-ui/core") } };
}

// run feeds one stream to a client and gives the events its subscriber saw.
async function run(library, events) {
  const body = events.map((e) => `data: ${JSON.stringify(e)}\n\n`).join("");
  globalThis.fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const agent = new library.client.HttpAgent({ url: "http://agent.invalid/", threadId: "t" });
  const seen = [];
  let error = null;
  try {
    await agent.runAgent({ runId: "r" }, {
      onEvent: ({ event }) => void seen.push(event),
      onRunFailed: (e) => void (error = e.error),
    });
  } catch (e) {
    error ??= e;
  }
  return { error, seen, messages: agent.messages };
}

const sorted = (v) =>
  Array.isArray(v) ? v.map(sorted)
  : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().filter((k) => v[k] !== undefined).map((k) => [k, sorted(v[k])]))
  : v;
const equal = (a, b) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));

// verdict: dies; ignored, when the client goes on but its schema does not name
// what the case is about, or its subscriber never sees it; else accepted.
async function verdict(library, name, event) {
  const [before, after] = around[event.type] ?? around[""];
  const { error, seen } = await run(library, [...before, event, ...after]);
  if (error) return "dies";
  const known = library.schema[event.type];
  const arrived = seen.length > before.length + after.length;
  if (!known) return arrived ? "accepted" : "ignored";
  const key = name.match(/^\S+ (\w+)(=| absent)/)?.[1];
  if (!key || name.endsWith(" absent")) return "accepted";
  if (!known.fields[key]) return "ignored";
  if (event.type.endsWith("_CHUNK")) return "accepted";
  const got = seen.find((e) => e.type === event.type && (e.messageId ?? e.toolCallId) === (event.messageId ?? event.toolCallId));
  if (!got) return arrived ? "accepted" : "ignored"; // it was made another event
  return equal(got[key], event[key]) ? "accepted" : "ignored";
}

const [libraries, rest] = [{}, []];
for (const arg of process.argv.slice(2)) {
  const m = arg.match(/^(0\.0\.45|0\.0\.59|1\.0)=(.*)$/);
  if (m) libraries[m[1]] = load(m[2]);
  else rest.push(arg);
}

if (rest[0] === "streams") {
  let bad = 0, n = 0;
  for (const file of rest.slice(1)) {
    for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const { profile, name, events } = JSON.parse(line);
      const { error } = await run(libraries[profile], events);
      n++;
      if (error) console.log(`${++bad}: ${profile} dies of ${name}: ${String(error.message).slice(0, 300)}\n   ${JSON.stringify(events)}`);
    }
  }
  console.log(`${n} streams, ${bad} deaths`);
  process.exit(bad ? 1 : 0);
}

const schemas = Object.fromEntries(Object.entries(libraries).map(([v, l]) => [v, l.schema]));
const block = (name, rows, last) => `"${name}":{\n${rows.join(",\n")}\n}${last ? "" : ","}`;
const verdicts = [];
for (const [name, event] of cases(schemas)) {
  const v = {};
  for (const [profile, library] of Object.entries(libraries)) v[profile] = await verdict(library, name, event);
  verdicts.push(`${JSON.stringify(name)}:${JSON.stringify({ event, ...v })}`);
}
const whole = [];
for (const [name, events] of Object.entries(streams)) {
  const v = {};
  for (const [profile, library] of Object.entries(libraries)) {
    const { error, seen, messages } = await run(library, events);
    v[profile] = error ? "dies" : "accepted";
    v[`${profile} messages`] = messages.map((m) => `${m.role} ${JSON.stringify(m.content ?? "")}`);
  }
  whole.push(`${JSON.stringify(name)}:${JSON.stringify({ events, ...v })}`);
}
process.stdout.write(
  "{\n" +
    block("versions", Object.entries(libraries).map(([v, l]) => `${JSON.stringify(v)}:${JSON.stringify(l.versions)}`)) + "\n" +
    block("around", Object.entries(around).map(([t, a]) => `${JSON.stringify(t)}:${JSON.stringify(a)}`)) + "\n" +
    block("schemas", Object.entries(schemas).map(([v, s]) => `${JSON.stringify(v)}:{\n${Object.entries(s).map(([t, d]) => `${JSON.stringify(t)}:${JSON.stringify(d)}`).join(",\n")}\n}`)) + "\n" +
    block("cases", verdicts) + "\n" +
    block("streams", whole, true) + "\n}\n",
);

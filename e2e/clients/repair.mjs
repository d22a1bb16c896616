// Runs a published client against the gateway once per order, and holds what came
// over the wire against that client's own rules.
//
// Reads JSON lines, answers each with one:
//   {version: "1.0.0"|"0.0.59"|"0.0.45", url, threadId, runId, headers?, accept?, messages?, state?, tools?}
// ->
//   {status, contentType, requestId,
//    wire:      each event as its text, or as JSON of what @ag-ui/proto 1.0.0 decodes
//    problems:  what the version's schema or order check says against the wire
//    events:    what the library delivered to a subscriber
//    messages, state: the application's, when the run was over
//    error:     runAgent's, complaints: what the library printed}
//
// `accept` takes the place of the client's own Accept header.
import readline from "node:readline";
import { createRequire } from "node:module";
import { watchedFetch } from "./wire.mjs";

const require = createRequire(import.meta.url);
// Neither is a dependency of ours; they are those the client brings.
const own = createRequire(require.resolve("@ag-ui/client"));
const proto = own("@ag-ui/proto");
const { from, lastValueFrom, toArray } = own("rxjs");

const libraries = {
  "1.0.0": { ...(await import("@ag-ui/client")), EventSchemas: (await import("@ag-ui/core/schemas")).EventSchema },
  "0.0.59": await import("ag-ui-client-0059"),
  // Not by import: its ES module cannot find its own JSON patch in Node.
  "0.0.45": require("ag-ui-client-0045"),
};

let complaints = [];
for (const level of ["warn", "error"]) {
  console[level] = (...parts) => complaints.push(parts.map(String).join(" "));
}

const describe = (error) => (error ? { name: error.name, message: String(error.message ?? error) } : null);

// What the version's schema says of each event, and its order check of all of
// them. A type that 1.0 does not know is none of its concern [RUN-11]; any other
// event that it would drop because it cannot read it is a problem here.
async function judge(library, wire) {
  const problems = [];
  const events = [];
  for (const raw of wire) {
    const verdict = library.EventSchemas.safeParse(JSON.parse(raw));
    if (verdict.success) events.push(verdict.data);
    else if (library.isRecognizedEvent?.(JSON.parse(raw)) ?? true) problems.push(`${raw}: ${JSON.stringify(verdict.error.issues).slice(0, 500)}`);
  }
  try {
    await lastValueFrom(from(events).pipe(library.transformChunks(), library.verifyEvents(), toArray()), { defaultValue: [] });
  } catch (error) {
    problems.push(`order: ${error.message}`);
  }
  return problems;
}

// The frames of a protobuf body: four bytes of length, big-endian [RUN-1].
function unpack(bytes) {
  const wire = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new Error("cut frame");
    wire.push(JSON.stringify(proto.decode(new Uint8Array(bytes.subarray(at + 4, end)))));
    at = end;
  }
  return wire;
}

// fetch as the client's own, with one copy of the answer for us.
function watched(order, report, fetched) {
  return async (url, init) => {
    if (order.accept) init = { ...init, headers: { ...init.headers, Accept: order.accept } };
    if (order.accept?.includes("proto")) {
      const response = await fetched(url, init);
      head(report, response);
      const bytes = Buffer.from(await response.clone().arrayBuffer());
      report.wire = unpack(bytes);
      return response;
    }
    let over;
    report.over = new Promise((resolve) => (over = resolve));
    return watchedFetch({
      onHead: (response) => head(report, response),
      onFrame: (frame, cut) => take(report, frame, cut),
      onEnd: (error) => over(error),
    })(url, init);
  };
}

function head(report, response) {
  report.status = response.status;
  report.contentType = response.headers.get("content-type");
  report.requestId = response.headers.get("x-request-id");
}

function take(report, frame, cut) {
  if (frame.startsWith(":")) return;
  if (cut || !frame.startsWith("data: ") || frame.includes("\n")) report.problems.push(`frame ${JSON.stringify(frame)}`);
  else report.wire.push(frame.slice("data: ".length));
}

const plainFetch = globalThis.fetch;

async function run(order) {
  const library = libraries[order.version];
  const report = { wire: [], problems: [], events: [], error: null };
  complaints = [];
  const fetched = watched(order, report, plainFetch);
  const agent = new library.HttpAgent({
    url: order.url,
    threadId: order.threadId,
    headers: order.headers ?? {},
    initialMessages: order.messages ?? [],
    initialState: order.state ?? {},
    fetch: fetched,
  });
  // 0.0.45 has no option for it.
  if (order.version === "0.0.45") globalThis.fetch = (url, init) => ((globalThis.fetch = plainFetch), fetched(url, init));
  try {
    await agent.runAgent(
      { runId: order.runId, tools: order.tools ?? [] },
      { onEvent: ({ event }) => void report.events.push(structuredClone(event)) },
    );
  } catch (error) {
    report.error = describe(error);
  }
  globalThis.fetch = plainFetch;
  const broke = await report.over;
  if (broke) report.problems.push(`stream: ${broke.message}`);
  delete report.over;
  report.problems.push(...(await judge(library, report.wire)));
  return { ...report, messages: agent.messages, state: agent.state, complaints };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await run(JSON.parse(line));
  } catch (error) {
    answer = { broken: String(error.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}

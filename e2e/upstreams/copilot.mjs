// A published agent backend: CopilotKit's BuiltInAgent behind its own runtime
// endpoint, with a mock model so that no key and no network is needed.
//
// Prints `ready URL` once it listens; URL is the AG-UI run route. It knows no
// tool of any client: the model asks for a tool only when the request offered
// it, so a call proves that the client's list came all the way.
//
// What the model answers is decided by the last user text:
//   "where am I"   one call of get_location, then a text with the result in it
//   "compare"      get_location and get_time in one message, then both results
//   "recall"       a text with every result of the whole history
//   "slow words"   six words, at least 50 ms apart
//   anything else  an echo of the text
import "./quiet.mjs";
import { serve } from "@hono/node-server";
import { BuiltInAgent, CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotEndpoint } from "@copilotkit/runtime/v2/hono";
import { LLMock } from "@copilotkit/aimock";

const textOf = (content) =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => part.text ?? "").join("");

const lastUser = (messages) => messages.findLastIndex((m) => m.role === "user");

// Tool results, in the order the backend was told them.
const resultsOf = (messages) => messages.filter((m) => m.role === "tool").map((m) => textOf(m.content));
const resultsOfTurn = (messages) => resultsOf(messages.slice(lastUser(messages) + 1));

const offered = (request) => (request.tools ?? []).map((t) => t.function.name);

let calls = 0;
const call = (name, args) => ({
  id: `call_${++calls}_${name}`,
  name,
  arguments: JSON.stringify(args),
});

function answer(request) {
  const messages = request.messages ?? [];
  const text = textOf(messages[lastUser(messages)]?.content);
  const results = resultsOfTurn(messages);
  if (text.includes("recall")) return { content: `I know ${resultsOf(messages).join(" and ")}.` };
  const wanted = text.includes("compare")
    ? [call("get_location", { precise: true }), call("get_time", { zone: "UTC" })]
    : text.includes("where am I")
      ? [call("get_location", { precise: true })]
      : [];
  if (results.length > 0) return { content: `The answer is ${results.join(" and ")}.` };
  if (wanted.length > 0) {
    const missing = wanted.filter((c) => !offered(request).includes(c.name));
    if (missing.length > 0) return { content: `No tool ${missing.map((c) => c.name).join(", ")} was offered.` };
    return { toolCalls: wanted };
  }
  return { content: `You said: ${text}` };
}

const model = new LLMock({ port: 0, host: "127.0.0.1" });
model.onMessage(/slow words/, { content: "one two three four five six " }, { chunkSize: 5, streamingProfile: { ttft: 20, tps: 12 } });
model.on({ predicate: () => true }, answer);
await model.start();
process.env.OPENAI_BASE_URL = `${model.url}/v1`;
process.env.OPENAI_API_KEY = "mock";

const runtime = new CopilotRuntime({
  agents: { assistant: new BuiltInAgent({ model: "openai/gpt-4o" }) },
});
const app = createCopilotEndpoint({ runtime, basePath: "/copilot" });
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => {
  console.log(`ready http://127.0.0.1:${port}/copilot/agent/assistant/run`);
});

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    server.close();
    process.exit(0);
  });
}
// The parent holds our standard input: when it is gone, so are we.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

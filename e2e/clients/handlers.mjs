// Applications with one handler for each frontend tool, on published libraries; tells
// which calls their handlers were run for.
//
// Reads JSON lines, answers each with one:
//   {library: "core-1.74"|"1.0.0"|"0.0.59", url, threadId, tool, headers?}
// -> {atEnd, atFinish, after, results, error}
//
// CopilotKit's core runs handlers itself: `after` lists the ids of the calls. An
// application on HttpAgent has three places to run them from:
//   atEnd    onToolCallEndEvent, as soon as a call is complete
//   atFinish onRunFinishedEvent, the calls that no message answers
//   after    once runAgent is over, however it ended, as CopilotKit's core does
// `results` are the tool messages that the application was left with.
import readline from "node:readline";

process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
const { CopilotKitCore } = await import("copilotkit-core-174");

const clients = { "1.0.0": await import("@ag-ui/client"), "0.0.59": await import("ag-ui-client-0059") };

for (const level of ["warn", "error", "log"]) console[level] = () => {};

const user = () => [{ id: "asked", role: "user", content: "go" }];

// Calls of the conversation without an answer.
function unanswered(messages, name) {
  const answered = new Set(messages.filter((m) => m.role === "tool").map((m) => m.toolCallId));
  return messages
    .flatMap((m) => m.toolCalls ?? [])
    .filter((call) => call.function.name === name && !answered.has(call.id))
    .map((call) => call.id);
}

const resultsOf = (messages) =>
  messages.filter((m) => m.role === "tool").map((m) => ({ toolCallId: m.toolCallId, content: m.content }));

async function core({ url, threadId, tool }) {
  // The client that this core was published with.
  const agent = new clients["0.0.59"].HttpAgent({ url, threadId, agentId: "default", initialMessages: user() });
  const app = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent } });
  const after = [];
  let error = null;
  app.subscribe({ onError: (event) => void (error ??= { name: String(event.code), message: String(event.error?.message) }) });
  app.addTool({
    name: tool,
    description: tool,
    followUp: false,
    handler: async (args, { toolCall }) => {
      after.push(toolCall.id);
      return "done";
    },
  });
  await app.runAgent({ agent });
  return { atEnd: [], atFinish: [], after, results: resultsOf(agent.messages), error };
}

async function subscriber({ library, url, threadId, tool, headers }) {
  const agent = new clients[library].HttpAgent({ url, threadId, headers: headers ?? {}, initialMessages: user() });
  const atEnd = [];
  const atFinish = [];
  let error = null;
  try {
    await agent.runAgent(
      { tools: [{ name: tool, description: tool, parameters: { type: "object", properties: {} } }] },
      {
        onToolCallEndEvent: ({ event, toolCallName }) => {
          if (toolCallName === tool) atEnd.push(event.toolCallId);
        },
        onRunFinishedEvent: ({ messages }) => {
          atFinish.push(...unanswered(messages, tool));
        },
      },
    );
  } catch (caught) {
    error = { name: caught.name, message: String(caught.message) };
  }
  return { atEnd, atFinish, after: unanswered(agent.messages, tool), results: resultsOf(agent.messages), error };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    const order = JSON.parse(line);
    answer = await (order.library.startsWith("core") ? core(order) : subscriber(order));
  } catch (error) {
    answer = { broken: String(error.stack ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);

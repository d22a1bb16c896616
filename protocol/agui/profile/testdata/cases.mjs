// The events that check.mjs tries: every type with every field any version
// knows, and each value that some version may take otherwise than another.

const start = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finish = { type: "RUN_FINISHED", threadId: "t", runId: "r" };
const text = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" };
const textEnd = { type: "TEXT_MESSAGE_END", messageId: "m" };
const call = { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "n" };
const callEnd = { type: "TOOL_CALL_END", toolCallId: "c" };
const span = { type: "REASONING_START", messageId: "s" };
const spanEnd = { type: "REASONING_END", messageId: "s" };
const thought = { type: "REASONING_MESSAGE_START", messageId: "q", role: "reasoning" };
const thoughtEnd = { type: "REASONING_MESSAGE_END", messageId: "q" };
const sub = { type: "SUBAGENT_STARTED", subagentRunId: "a", name: "helper" };
const subEnd = { type: "SUBAGENT_FINISHED", subagentRunId: "a" };
const activity = { type: "ACTIVITY_SNAPSHOT", messageId: "v", activityType: "PLAN", content: { a: 1 } };
const thinking = { type: "THINKING_START" };
const thinkingEnd = { type: "THINKING_END" };
const thinkingText = { type: "THINKING_TEXT_MESSAGE_START" };
const thinkingTextEnd = { type: "THINKING_TEXT_MESSAGE_END" };

// What stands before and after the event under test, so that its order is right.
export const around = {
  RUN_STARTED: [[], [finish]],
  RUN_FINISHED: [[start], []],
  RUN_ERROR: [[start], []],
  STEP_STARTED: [[start], [{ type: "STEP_FINISHED", stepName: "p" }, finish]],
  STEP_FINISHED: [[start, { type: "STEP_STARTED", stepName: "p" }], [finish]],
  TEXT_MESSAGE_START: [[start], [textEnd, finish]],
  TEXT_MESSAGE_CONTENT: [[start, text], [textEnd, finish]],
  TEXT_MESSAGE_END: [[start, text], [finish]],
  TOOL_CALL_START: [[start], [callEnd, finish]],
  TOOL_CALL_ARGS: [[start, call], [callEnd, finish]],
  TOOL_CALL_END: [[start, call], [finish]],
  TOOL_CALL_RESULT: [[start, call, callEnd], [finish]],
  ACTIVITY_DELTA: [[start, activity], [finish]],
  REASONING_START: [[start], [spanEnd, finish]],
  REASONING_MESSAGE_START: [[start], [thoughtEnd, finish]],
  REASONING_MESSAGE_CONTENT: [[start, thought], [thoughtEnd, finish]],
  REASONING_MESSAGE_END: [[start, thought], [finish]],
  REASONING_END: [[start, span], [finish]],
  REASONING_ENCRYPTED_VALUE: [[start, thought, thoughtEnd], [finish]],
  SUBAGENT_STARTED: [[start], [subEnd, finish]],
  SUBAGENT_FINISHED: [[start, sub], [finish]],
  SUBAGENT_ERROR: [[start, sub], [finish]],
  THINKING_START: [[start], [thinkingEnd, finish]],
  THINKING_TEXT_MESSAGE_START: [[start, thinking], [thinkingTextEnd, thinkingEnd, finish]],
  THINKING_TEXT_MESSAGE_CONTENT: [[start, thinking, thinkingText], [thinkingTextEnd, thinkingEnd, finish]],
  THINKING_TEXT_MESSAGE_END: [[start, thinking, thinkingText], [thinkingEnd, finish]],
  THINKING_END: [[start, thinking], [finish]],
  "": [[start], [finish]],
};

const base = {
  RUN_STARTED: start,
  RUN_FINISHED: finish,
  RUN_ERROR: { message: "m" },
  STEP_STARTED: { stepName: "p" },
  STEP_FINISHED: { stepName: "p" },
  TEXT_MESSAGE_START: { messageId: "m" },
  TEXT_MESSAGE_CONTENT: { messageId: "m", delta: "d" },
  TEXT_MESSAGE_END: { messageId: "m" },
  TEXT_MESSAGE_CHUNK: { messageId: "m", delta: "d" },
  TOOL_CALL_START: { toolCallId: "c", toolCallName: "n" },
  TOOL_CALL_ARGS: { toolCallId: "c", delta: "{}" },
  TOOL_CALL_END: { toolCallId: "c" },
  TOOL_CALL_CHUNK: { toolCallId: "c", toolCallName: "n", delta: "{}" },
  TOOL_CALL_RESULT: { messageId: "o", toolCallId: "c", content: "x" },
  STATE_SNAPSHOT: { snapshot: {} },
  STATE_DELTA: { delta: [{ op: "add", path: "/a", value: 1 }] },
  MESSAGES_SNAPSHOT: { messages: [] },
  ACTIVITY_SNAPSHOT: activity,
  ACTIVITY_DELTA: { messageId: "v", activityType: "PLAN", patch: [{ op: "replace", path: "/a", value: 2 }] },
  RAW: { event: { a: 1 } },
  CUSTOM: { name: "n", value: 1 },
  REASONING_START: { messageId: "s" },
  REASONING_MESSAGE_START: { messageId: "q", role: "reasoning" },
  REASONING_MESSAGE_CONTENT: { messageId: "q", delta: "d" },
  REASONING_MESSAGE_END: { messageId: "q" },
  REASONING_MESSAGE_CHUNK: { messageId: "q", delta: "d" },
  REASONING_END: { messageId: "s" },
  REASONING_ENCRYPTED_VALUE: { subtype: "message", entityId: "q", encryptedValue: "e" },
  SUBAGENT_STARTED: { subagentRunId: "a", name: "helper" },
  SUBAGENT_FINISHED: { subagentRunId: "a" },
  SUBAGENT_ERROR: { subagentRunId: "a", message: "m" },
  THINKING_START: {},
  THINKING_TEXT_MESSAGE_START: {},
  THINKING_TEXT_MESSAGE_CONTENT: { delta: "d" },
  THINKING_TEXT_MESSAGE_END: {},
  THINKING_END: {},
  NOT_A_TYPE: { a: 1 },
};

const image = (source, more) => ({ type: "image", source, ...more });
const data = { type: "data", value: "aGk=", mimeType: "image/png" };
const parts = {
  text: { type: "text", text: "x" },
  "text id": { type: "text", text: "x", id: "i" },
  "text metadata": { type: "text", text: "x", metadata: { a: 1 } },
  "image data": image(data),
  "image url": image({ type: "url", value: "https://e.invalid/a" }),
  "image url mimeType": image({ type: "url", value: "https://e.invalid/a", mimeType: "image/png" }),
  "image file": image({ type: "file", value: "h", provider: "p" }),
  "image metadata": image(data, { metadata: { filename: "a.png" } }),
  "image metadata null": image(data, { metadata: null }),
  "audio data": { type: "audio", source: { ...data, mimeType: "audio/wav" } },
  "video data": { type: "video", source: { ...data, mimeType: "video/mp4" } },
  "document data": { type: "document", source: { ...data, mimeType: "application/pdf" } },
  "binary data": { type: "binary", mimeType: "image/png", data: "aGk=" },
  "binary url": { type: "binary", mimeType: "image/png", url: "https://e.invalid/a", filename: "a.png" },
  "binary id": { type: "binary", mimeType: "image/png", id: "h" },
  "binary empty": { type: "binary", mimeType: "image/png" },
  "not a part": { type: "hologram", value: 1 },
};

const tc = { id: "c", type: "function", function: { name: "n", arguments: "{}" } };
const messages = {
  developer: { id: "1", role: "developer", content: "x" },
  system: { id: "1", role: "system", content: "x" },
  user: { id: "1", role: "user", content: "x" },
  "user name": { id: "1", role: "user", content: "x", name: "n" },
  assistant: { id: "1", role: "assistant", content: "x" },
  "assistant toolCalls": { id: "1", role: "assistant", toolCalls: [tc] },
  "assistant toolCalls encryptedValue": { id: "1", role: "assistant", toolCalls: [{ ...tc, encryptedValue: "e" }] },
  "assistant toolCalls metadata": { id: "1", role: "assistant", toolCalls: [{ ...tc, metadata: { a: 1 } }] },
  "assistant content null": { id: "1", role: "assistant", content: null, toolCalls: [tc] },
  tool: { id: "1", role: "tool", toolCallId: "c", content: "x" },
  "tool error": { id: "1", role: "tool", toolCallId: "c", content: "x", error: "e" },
  "tool name": { id: "1", role: "tool", toolCallId: "c", content: "x", name: "n" },
  "tool parts": { id: "1", role: "tool", toolCallId: "c", content: [parts.text, parts["image data"]] },
  activity: { id: "1", role: "activity", activityType: "PLAN", content: { a: 1 } },
  reasoning: { id: "1", role: "reasoning", content: "x", encryptedValue: "e" },
  "not a role": { id: "1", role: "oracle", content: "x" },
  subagentRunId: { id: "1", role: "assistant", content: "x", subagentRunId: "a" },
  "subagentRunId null": { id: "1", role: "assistant", content: "x", subagentRunId: null },
  metadata: { id: "1", role: "user", content: "x", metadata: { a: 1 } },
  "metadata null": { id: "1", role: "user", content: "x", metadata: null },
  "unknown field": { id: "1", role: "user", content: "x", extra: 1 },
};

const interrupt = { id: "i", reason: "approve" };
const count = { provider: "p", model: "m", inputTokens: 1, outputTokens: 1, totalTokens: 2, reasoningTokens: 0, cachedInputTokens: 0 };
const input = { threadId: "t", runId: "r", state: {}, messages: [], tools: [], context: [], forwardedProps: {} };
const { tools: _1, ...noTools } = input;
const { context: _2, ...noContext } = input;

const anyJSON = { string: "x", object: { a: 1 } };
const fields = {
  timestamp: { integer: 1, fraction: 1.5 },
  rawEvent: anyJSON,
  metadata: { object: { a: 1 }, text: "x" },
  subagentRunId: { "": "" },
  parentMessageId: { text: "m0" },
  name: { text: "n" },
  title: { text: "t" },
  delta: { "": "" },
  code: { text: "c" },
  source: { text: "s" },
  result: anyJSON,
  description: { text: "d" },
  parentSubagentRunId: { unknown: "z" },
  parentToolCallId: { text: "c" },
  parentRunId: { text: "r0" },
  protocolVersion: { "1.0": "1.0", "9.0": "9.0" },
  replace: { true: true, false: false },
  role: { developer: "developer", system: "system", assistant: "assistant", user: "user", tool: "tool", reasoning: "reasoning", other: "oracle" },
  subtype: { "tool-call": "tool-call", message: "message", other: "x" },
  usage: { counts: [count], "cacheWriteInputTokens": [{ ...count, cacheWriteInputTokens: 1 }], fraction: [{ inputTokens: 1.5 }], "unknown field": [{ ...count, extra: 1 }], empty: [] },
  input: {
    whole: input, "without tools": noTools, "without context": noContext, protocolVersion: { ...input, protocolVersion: "1.0" },
    resume: { ...input, resume: [{ interruptId: "i", status: "resolved", payload: 1, metadata: { a: 1 } }] },
    "tool metadata": { ...input, tools: [{ name: "n", description: "d", parameters: {}, metadata: { a: 1 } }] },
    "tool parts": { ...input, messages: [messages["tool parts"]] },
    "image data": { ...input, messages: [{ id: "1", role: "user", content: [parts["image data"]] }] },
  },
  extra: { unknown: 1 },
};
const outcomes = {
  success: { type: "success" },
  "success pendingToolCallIds": { type: "success", pendingToolCallIds: ["c"] },
  "success unknown field": { type: "success", extra: 1 },
  cancelled: { type: "cancelled" },
  interrupt: { type: "interrupt", interrupts: [interrupt] },
  "interrupt all": { type: "interrupt", interrupts: [{ ...interrupt, message: "m", toolCallId: "c", responseSchema: {}, expiresAt: "2030-01-01T00:00:00Z", metadata: { a: 1 }, subagentRunId: "a" }] },
  "interrupt none": { type: "interrupt", interrupts: [] },
  "interrupt unknown field": { type: "interrupt", interrupts: [{ ...interrupt, extra: 1 }] },
  "interrupt pendingToolCallIds": { type: "interrupt", interrupts: [interrupt], pendingToolCallIds: ["c"] },
  "not an outcome": { type: "exploded" },
};
const only = {
  RUN_FINISHED: { outcome: outcomes },
  SUBAGENT_FINISHED: {
    outcome: { success: { type: "success" }, suspended: { type: "suspended" }, "suspended interruptIds": { type: "suspended", interruptIds: ["i"] }, "unknown field": { type: "success", extra: 1 }, "not an outcome": { type: "exploded" } },
  },
  TOOL_CALL_RESULT: { content: { "": "", null: null, "no parts": [], ...Object.fromEntries(Object.entries(parts).map(([k, v]) => [k, [v]])) } },
  MESSAGES_SNAPSHOT: {
    messages: {
      ...Object.fromEntries(Object.entries(messages).map(([k, v]) => [k, [v]])),
      ...Object.fromEntries(Object.entries(parts).map(([k, v]) => [`user ${k}`, [{ id: "1", role: "user", content: [v] }]])),
    },
  },
  STATE_SNAPSHOT: { snapshot: { null: null, number: 1 } },
  STATE_DELTA: { delta: { empty: [], "not an op": [{ op: "explode", path: "/a" }], "no path": [{ op: "add", value: 1 }] } },
  CUSTOM: { value: { null: null } },
  RAW: { event: { null: null } },
};

// Every case: its name is "TYPE", or "TYPE field=value".
export function* cases(schemas) {
  for (const [type, own] of Object.entries(base)) {
    const event = { type, ...own };
    yield [type, event];
    const known = new Set(["extra", "metadata"]);
    for (const of of Object.values(schemas)) for (const key of Object.keys(of[type]?.fields ?? {})) known.add(key);
    for (const key of [...known].sort()) {
      if (key === "type") continue;
      const values = { ...(key in (only[type] ?? {}) ? only[type][key] : key in fields && !(type === "TOOL_CALL_RESULT" && key === "content") ? fields[key] : {}), null: null };
      for (const [name, value] of Object.entries(values)) yield [`${type} ${key}=${name}`, { ...event, [key]: value }];
      if (key in event) {
        const { [key]: _, ...without } = event;
        yield [`${type} ${key} absent`, without];
      }
    }
  }
}

// Whole streams: what the order rules and the chunks of one version do otherwise.
const step = (t, more) => ({ type: t, stepName: "p", ...more });
const a = { subagentRunId: "a" };
export const streams = {
  "the same step of a subagent inside": [start, sub, step("STEP_STARTED"), step("STEP_STARTED", a), step("STEP_FINISHED", a), step("STEP_FINISHED"), subEnd, finish],
  "the same step of two owners, no subagent events": [start, step("STEP_STARTED"), step("STEP_STARTED", a), step("STEP_FINISHED", a), step("STEP_FINISHED"), finish],
  "chunks of two owners interleaved": [
    start, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "x" }, { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "y", ...a },
    { type: "TEXT_MESSAGE_CHUNK", delta: "z" }, { type: "TEXT_MESSAGE_CHUNK", delta: "z", ...a }, finish,
  ],
  "a chunk and a delta of another owner": [
    start, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "x" }, { ...text, ...a }, { ...textEnd, ...a }, { type: "TEXT_MESSAGE_CHUNK", delta: "z" }, finish,
  ],
  "a subagent's work": [
    start, sub, ...[text, { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "x" }, textEnd, call, { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" }, callEnd,
      { type: "TOOL_CALL_RESULT", messageId: "o", toolCallId: "c", content: "x" }, span, thought, { type: "REASONING_MESSAGE_CONTENT", messageId: "q", delta: "x" }, thoughtEnd, spanEnd,
      step("STEP_STARTED"), step("STEP_FINISHED"), { type: "CUSTOM", name: "n", value: 1 }, activity].map((e) => ({ ...e, ...a })),
    subEnd, finish,
  ],
  "an empty chunk": [start, { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "" }, { type: "TEXT_MESSAGE_CHUNK", delta: "z" }, finish],
  "a reasoning chunk": [start, { type: "REASONING_MESSAGE_CHUNK", messageId: "q", delta: "x" }, { type: "REASONING_MESSAGE_CHUNK", delta: "y" }, finish],
  "thinking whole": [start, thinking, thinkingText, { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "x" }, thinkingTextEnd, thinkingEnd, finish],
  "thinking without its span": [start, thinkingText, { type: "THINKING_TEXT_MESSAGE_CONTENT", delta: "x" }, thinkingTextEnd, finish],
  "thinking left open": [start, thinking, thinkingText, finish],
  "reasoning left open": [start, span, thought, finish],
  "reasoning without its span": [start, thought, thoughtEnd, finish],
  "reasoning content without its start": [start, { type: "REASONING_MESSAGE_CONTENT", messageId: "q", delta: "x" }, finish],
  "one id for a span and its message": [start, span, { ...thought, messageId: "s" }, { ...thoughtEnd, messageId: "s" }, spanEnd, finish],
  "a text left open": [start, text, finish],
  "a call left open": [start, call, finish],
  "a step left open": [start, step("STEP_STARTED"), finish],
  "a text ends twice": [start, text, textEnd, textEnd, finish],
  "no RUN_STARTED": [text, textEnd, finish],
  "RUN_ERROR alone": [{ type: "RUN_ERROR", message: "m" }],
  "an event after RUN_FINISHED": [start, finish, { type: "CUSTOM", name: "n", value: 1 }],
  "a second run": [start, finish, { ...start, runId: "r2" }, { ...finish, runId: "r2" }],
  "a second run after RUN_ERROR": [start, { type: "RUN_ERROR", message: "m" }, { ...start, runId: "r2" }, { ...finish, runId: "r2" }],
};

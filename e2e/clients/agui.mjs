// Drives a published AG-UI client the way an application does.
//
// Reads JSON lines: the first opens a session, each later one is a step. One
// JSON line answers each step (a report), and one the opening.
//
//   open: {version: "1.0.0"|"0.0.59", url, threadId, headers?, messages?, state?}
//   step: {list?, user?, userId?, results?, resume?, runId?, tools?, answers?,
//          handle?, forwardedProps?, maxRuns?, abortAfterEvents?, abortAfterText?}
//
// `list` (message ids) makes those messages the application's history before
// anything is appended: a part of what it has, in that order (an edit, a
// regeneration), what it had earlier (an old branch), or nothing (a reload).
// `answers` maps a tool name to the text this application's handler returns.
// When a run ends with calls that have an answer, the results are appended and
// the agent is run again; a call without an answer ends the step.
// With `handle` every call has an answer: `done <arguments>`, where the arguments
// are what the library gave the application; `handled` reports each as it saw it.
// `results` ([{toolCallId, content, error?}]) are appended before the first run.
import readline from "node:readline";
import { watchedFetch } from "./wire.mjs";

const libraries = {
  "1.0.0": async () => ({
    ...(await import("@ag-ui/client")),
    schema: (await import("@ag-ui/core/schemas")).EventSchema,
  }),
  "0.0.59": async () => {
    const library = await import("ag-ui-client-0059");
    return { ...library, schema: library.EventSchemas };
  },
};

// What the library complains about on the console belongs in the report.
const complaints = [];
for (const level of ["warn", "error"]) {
  console[level] = (...parts) => complaints.push(parts.map(String).join(" "));
}

const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const describe = (error) => (error ? { name: error.name, message: String(error.message ?? error) } : null);

// One frame of the wire: its JSON as written, what the version's own schema
// says about it, and any line that is not `data: ` or a comment.
function check(schema, frame, truncated) {
  const lines = frame.split("\n").filter((line) => line !== "" && !line.startsWith(":"));
  if (lines.length === 0) return null;
  const extra = lines.filter((line) => !line.startsWith("data: "));
  if (truncated) extra.push("frame without its blank line");
  const raw = lines
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .join("\n");
  let event;
  try {
    event = JSON.parse(raw);
  } catch (error) {
    return { raw, extra, problem: `not JSON: ${error.message}` };
  }
  const verdict = schema.safeParse(event);
  const problem = verdict.success ? "" : JSON.stringify(verdict.error.issues).slice(0, 2000);
  return { raw, event, extra, problem };
}

class Session {
  constructor(library, opening) {
    this.library = library;
    this.run = null;
    this.agent = new library.HttpAgent({
      url: opening.url,
      headers: opening.headers ?? {},
      threadId: opening.threadId,
      initialMessages: opening.messages ?? [],
      initialState: opening.state ?? {},
      fetch: watchedFetch({
        onHead: (response) => this.head(response),
        onFrame: (frame, truncated) => this.frame(frame, truncated),
        onEnd: (error) => this.run.wireEnded(error),
      }),
    });
    this.counter = 0;
    this.ever = new Map(); // every message the application has had, by id
    this.handled = [];
    this.remember();
  }

  remember() {
    for (const message of this.agent.messages) this.ever.set(message.id, structuredClone(message));
  }

  // The application puts another list in the place of the one it has.
  show(ids) {
    const unknown = ids.filter((id) => !this.ever.has(id));
    if (unknown.length > 0) throw new Error(`this application never had ${unknown}`);
    this.agent.setMessages(ids.map((id) => this.ever.get(id)));
  }

  head(response) {
    this.run.report.status = response.status;
    this.run.report.headers = Object.fromEntries(response.headers);
  }

  frame(frame, truncated) {
    const seen = check(this.library.schema, frame, truncated);
    if (seen) this.run.report.wire.push({ at: Date.now(), ...seen });
    else this.run.report.comments.push({ at: Date.now(), raw: frame });
  }

  append(message) {
    this.agent.addMessage({ id: `app-${Date.now()}-${++this.counter}`, ...message });
  }

  async step(step) {
    if (step.list !== undefined) this.show(step.list);
    if (step.user !== undefined) {
      this.append({ role: "user", content: step.user, ...(step.userId && { id: step.userId }) });
    }
    for (const result of step.results ?? []) this.append({ role: "tool", ...result });
    const runs = [];
    let resume = step.resume;
    let runId = step.runId;
    for (let n = 0; n < (step.maxRuns ?? 4); n++) {
      runs.push(await this.once(step, runId, resume));
      resume = runId = undefined;
      if (runs.at(-1).error || !(step.handle ? this.handle() : this.answer(step.answers ?? {}))) break;
    }
    this.remember();
    return {
      runs,
      messages: this.agent.messages,
      state: this.agent.state,
      complaints: complaints.splice(0),
      handled: this.handled.splice(0),
    };
  }

  async once(step, runId, resume) {
    const report = { events: [], wire: [], comments: [], pending: null, interrupts: null, error: null, pieces: 0, began: Date.now() };
    let wireEnded;
    const wire = new Promise((resolve) => (wireEnded = resolve));
    this.run = { report, wireEnded };
    this.ended = new Map(); // calls of this run as the library announced them
    const subscriber = {
      onEvent: ({ event }) => {
        report.events.push({ at: Date.now(), event });
        if (report.events.length === step.abortAfterEvents) this.agent.abortRun();
      },
      onTextMessageContentEvent: ({ event }) => {
        if (++report.pieces === step.abortAfterText) this.agent.abortRun();
      },
      onToolCallEndEvent: ({ event, toolCallName, toolCallArgs }) => {
        this.ended.set(event.toolCallId, { name: toolCallName, arguments: toolCallArgs });
      },
      onRunFinishedEvent: ({ outcome, pendingToolCallIds, interrupts }) => {
        report.outcome = outcome ?? null;
        report.pending = pendingToolCallIds ?? null;
        report.interrupts = interrupts ?? null;
      },
      onRunFailed: ({ error }) => {
        report.failed = describe(error);
      },
    };
    try {
      const parameters = { tools: step.tools ?? [], forwardedProps: step.forwardedProps ?? {} };
      if (runId !== undefined) parameters.runId = runId;
      if (resume !== undefined) parameters.resume = resume;
      const result = await this.agent.runAgent(parameters, subscriber);
      report.newMessages = result.newMessages;
    } catch (error) {
      report.error = describe(error);
      wireEnded(error);
    }
    report.wireError = describe(await wire);
    report.ended = Date.now();
    return report;
  }

  // Calls of the last assistant message that nothing in the history answers.
  open() {
    const answered = new Set(this.agent.messages.filter((m) => m.role === "tool").map((m) => m.toolCallId));
    const last = this.agent.messages.findLast((m) => m.role === "assistant" && m.toolCalls?.length);
    return (last?.toolCalls ?? []).filter((call) => !answered.has(call.id));
  }

  answer(answers) {
    const open = this.open();
    if (open.length === 0 || open.some((call) => !(call.function.name in answers))) return false;
    for (const call of open) {
      this.append({ role: "tool", toolCallId: call.id, content: answers[call.function.name] });
    }
    return true;
  }

  // The application's handlers run: each is told its own call's arguments, as the
  // history has them and as the library announced them at the call's end.
  handle() {
    const open = this.open();
    for (const call of open) {
      const { name, arguments: text } = call.function;
      this.handled.push({ id: call.id, name, arguments: text, announced: this.ended.get(call.id) ?? null });
      this.append({ role: "tool", toolCallId: call.id, content: `done ${text}` });
    }
    return open.length > 0;
  }
}

let session;
for await (const line of readline.createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  try {
    if (session) {
      say(await session.step(order));
    } else {
      session = new Session(await libraries[order.version](), order);
      say({ opened: true });
    }
  } catch (error) {
    say({ broken: String(error.stack ?? error) });
  }
}
process.exit(0);

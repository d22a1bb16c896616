// An agent backend that answers in protobuf as the published packages write it.
//
// Prints `ready URL` once it listens. POST URL/VERSION answers a RunAgentInput with
// the events of its first user message, a JSON list, encoded by @ag-ui/encoder and
// @ag-ui/proto of that version; threadId and runId are put into RUN_STARTED and
// RUN_FINISHED. A request that does not ask for protobuf gets 406.
import http from "node:http";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const encoderOf = (client) => createRequire(require.resolve(client))("@ag-ui/encoder").EventEncoder;
const encoders = { "1.0.0": encoderOf("@ag-ui/client"), "0.0.59": encoderOf("ag-ui-client-0059") };

const server = http.createServer(async (request, response) => {
  const Encoder = encoders[request.url.slice(1)];
  const encoder = new Encoder({ accept: request.headers.accept });
  if (!Encoder || encoder.getContentType() === "text/event-stream") {
    response.writeHead(406).end();
    return;
  }
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const input = JSON.parse(body);
  const { threadId, runId } = input;
  response.writeHead(200, { "Content-Type": encoder.getContentType() });
  for (const event of JSON.parse(input.messages[0].content)) {
    const ids = /^RUN_(STARTED|FINISHED)$/.test(event.type) ? { threadId, runId } : {};
    response.write(encoder.encodeBinary({ ...event, ...ids }));
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => console.log(`ready http://127.0.0.1:${server.address().port}`));

process.on("SIGTERM", () => process.exit(0));
// The parent holds our standard input: when it is gone, so are we.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));

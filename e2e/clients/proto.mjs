// Encodes and decodes events with the published @ag-ui/proto packages.
//
//   node proto.mjs
//     Reads JSON lines, answers each with one:
//     {version, event}          -> {bytes}  as the package's own server frames it, base64
//     {version, bytes, reader?} -> {events} what the package's client decodes, in order
//     and {error} where the package throws.
//
//   node proto.mjs golden FOLDER
//     Reads FOLDER/events.json ({TYPE: [event, …]}) and writes for each type
//       TYPE.v1.bin  those events as the 1.0.0 encoder frames them, one after the other
//       TYPE.v0.bin  the same from 0.0.59
//       TYPE.json    [{v1, v0, v1old}, …], in the order of the events: what the 1.0.0
//                    decoder gives for either encoder's bytes; what the 0.0.59
//                    decoder gives for those of 1.0.0. {"error": …} where one throws
//                    (encoder: the event is missing in that .bin).
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";

// Neither package is a dependency of ours; they are those the clients bring.
const require = createRequire(import.meta.url);
function packages(client) {
  const own = createRequire(require.resolve(client));
  return { ...own("@ag-ui/proto"), Encoder: own("@ag-ui/encoder").EventEncoder };
}
const versions = { "1.0.0": packages("@ag-ui/client"), "0.0.59": packages("ag-ui-client-0059") };

// The packages warn about events their schemas refuse and encode them anyway.
console.warn = () => {};

const mediaType = versions["1.0.0"].AGUI_MEDIA_TYPE;

function encode(version, event) {
  return Buffer.from(new versions[version].Encoder({ accept: mediaType }).encodeBinary(event));
}

// Cuts frames as both clients do: four bytes of length, big-endian.
function* frames(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new Error("cut frame");
    yield bytes.subarray(at + 4, end);
    at = end;
  }
}

function decode(version, bytes) {
  return [...frames(bytes)].map((frame) => versions[version].decode(new Uint8Array(frame)));
}

// What JSON leaves of a value: -0 is 0, infinities are null.
const plain = (value) => JSON.parse(JSON.stringify(value));

function attempt(what) {
  try {
    return what();
  } catch (error) {
    return { error: String(error.message ?? error).slice(0, 200) };
  }
}

function golden(folder) {
  const all = JSON.parse(fs.readFileSync(path.join(folder, "events.json"), "utf8"));
  for (const [type, events] of Object.entries(all)) {
    const rows = [];
    const streams = { v1: [], v0: [] };
    for (const event of events) {
      const row = {};
      for (const [name, version] of [["v1", "1.0.0"], ["v0", "0.0.59"]]) {
        const bytes = attempt(() => encode(version, event));
        if (bytes.error) {
          row[name] = { error: `encode: ${bytes.error}` };
          continue;
        }
        streams[name].push(bytes);
        row[name] = attempt(() => plain(decode("1.0.0", bytes)[0]));
        if (name === "v1") row.v1old = attempt(() => plain(decode("0.0.59", bytes)[0]));
      }
      rows.push(row);
    }
    for (const [name, parts] of Object.entries(streams)) {
      fs.writeFileSync(path.join(folder, `${type}.${name}.bin`), Buffer.concat(parts));
    }
    fs.writeFileSync(path.join(folder, `${type}.json`), `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`);
  }
}

async function serve() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { version, event, bytes } = JSON.parse(line);
    const answer = attempt(() =>
      event === undefined
        ? { events: decode(version, Buffer.from(bytes, "base64")) }
        : { bytes: encode(version, event).toString("base64") },
    );
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}

if (process.argv[2] === "golden") golden(process.argv[3]);
else await serve();

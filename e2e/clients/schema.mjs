// Exits 0 when the JSON document on standard input fits the named schema of
// the published @ag-ui/core 1.0, else says why not and exits 1.
import * as schemas from "@ag-ui/core/schemas";

let text = "";
for await (const chunk of process.stdin) text += chunk;
const verdict = schemas[process.argv[2]].safeParse(JSON.parse(text));
if (!verdict.success) {
  console.error(JSON.stringify(verdict.error.issues, null, 1));
  process.exit(1);
}

package repair

// Info describes one repair for the configuration and its reference.
type Info struct {
	Name   string // as in the agent's `repairs` and the metric's label `kind`
	Does   string // one sentence
	On     bool   // unless the configuration says otherwise
	Source string // field case or contract rule
}

// repair is one row of the table: take works on an event of one of the kinds and
// reports whether the event stays; what it adds goes to e.before.
type repair struct {
	Info
	kinds kindSet
	take  func(*Chain, *event) bool
}

// The rows, in the order an event passes them: first what an event is, then what
// its fields are, then which message it belongs to, then whether it is in order.
const (
	rowTypeNames = iota
	rowFieldNames
	rowErrorFrames
	rowFieldTypes
	rowRoles
	rowNulls
	rowErrorText
	rowRunIDs
	rowMissingIDs
	rowChunks
	rowClientChunks
	rowSharedIDs
	rowEmptyDeltas
	rowPlaceholders
	rowStartTwice
	rowMissingStart
	rowStrayEnd
	rowSteps
	rowDoubled
	rowLeading
	rowEmptyArguments
	rowPatchList
	rowPatchPaths
	rows
)

var (
	deltas   = setOf(textContent, thoughtContent, callArgs)
	messages = setOf(textStart, textContent, textEnd, textChunk, thoughtStart, thoughtContent, thoughtEnd, thoughtChunk)
	spans    = setOf(spanStart, spanEnd)
	patches  = setOf(stateDelta, activityDelta)
)

var table = [rows]repair{
	rowTypeNames: {Info{"type_names", "Reads event types in another spelling, such as text_message_start or TextMessageStart.", true, "RUN-7"},
		setOf(other), (*Chain).typeNames},
	rowFieldNames: {Info{"field_names", "Reads protocol fields in another spelling, such as message_id, where only one field can be meant; off, such an event ends the run.", false, "SEC-1"},
		setOf(messagesSnapshot), (*Chain).fieldNames},
	rowErrorFrames: {Info{"error_frames", "Makes RUN_ERROR of the error objects of other protocols, such as {\"error\":{\"message\":…}} and {\"detail\":…}; off, they end the run as a protocol error.", true, "RUN-8"},
		setOf(other), (*Chain).errorFrames},
	rowFieldTypes: {Info{"field_types", "Writes fields in the type the protocol has where another was sent: ids that are numbers, timestamps that are text or have a fraction, arguments and results that are JSON instead of text.", true, "RUN-7"},
		known, (*Chain).fieldTypes},
	rowRoles: {Info{"roles", "Writes the role the protocol has: ai, model, bot and agent are assistant, human is user, and reasoning and results have the one role they can have.", true, "RUN-7"},
		setOf(textStart, textChunk, thoughtStart, callResult), (*Chain).roles},
	rowNulls: {Info{"nulls", "Leaves out optional fields that are null; nulls that are data stay.", true, "F035"},
		known, (*Chain).optionalNulls},
	rowErrorText: {Info{"error_text", "Gives RUN_ERROR a message when it has none, and its code as text.", true, "RUN-3"},
		setOf(runError), (*Chain).errorText},
	rowRunIDs: {Info{"run_ids", "Gives RUN_STARTED and RUN_FINISHED the thread and run id when they have none.", true, "RUN-2"},
		setOf(runStarted, runFinished), (*Chain).runIDs},
	rowMissingIDs: {Info{"missing_ids", "Gives texts, reasoning and results without messageId one stable id each.", true, "F039"},
		messages | spans | setOf(callResult), (*Chain).missingIDs},
	rowChunks: {Info{"expand_chunks", "Writes TEXT_MESSAGE_CHUNK, TOOL_CALL_CHUNK and REASONING_MESSAGE_CHUNK as START, CONTENT or ARGS, and END.", false, "F039"},
		known, (*Chain).expandChunks},
	rowClientChunks: {Info{"client_call_chunks", "Writes TOOL_CALL_CHUNK of client tools as START, ARGS and END: a client ends chunks by itself when a stream is cut, and then runs half a call.", true, "RUN-3"},
		0, nil},
	rowSharedIDs: {Info{"shared_ids", "Gives a message its own id when another message of the run has it: reasoning and text, a result and a text, a text that goes on after a result.", true, "INV-2"},
		messages | setOf(callStart, callChunk, callResult, encrypted, subagentStarted, messagesSnapshot, activitySnapshot), (*Chain).sharedIDs},
	rowEmptyDeltas: {Info{"empty_deltas", "Drops events whose delta is empty, null or missing, of text, reasoning and tool arguments.", true, "F034"},
		deltas, (*Chain).emptyDeltas},
	rowPlaceholders: {Info{"placeholder_results", "Drops the placeholder, such as an empty text or \"pending\", that an agent gives as result of a client's call in the run that makes it, so that the client is asked.", false, "F031"},
		setOf(callStart, callChunk, callResult), (*Chain).placeholders},
	rowStartTwice: {Info{"start_twice", "Drops a second START of a text, reasoning or tool call that is open, and reads chunks of one as CONTENT or ARGS.", true, "F043"},
		setOf(textStart, thoughtStart, spanStart, callStart), (*Chain).startTwice},
	rowMissingStart: {Info{"missing_start", "Starts a text or reasoning message that goes on without a START.", true, "F043"},
		setOf(textContent, thoughtContent), (*Chain).missingStart},
	rowStrayEnd: {Info{"stray_end", "Drops the END of a text or reasoning that is not open: one without START, or a second one.", true, "F043"},
		setOf(textEnd, thoughtEnd, spanEnd), (*Chain).strayEnd},
	rowSteps: {Info{"steps", "Drops STEP_FINISHED without STEP_STARTED, and STEP_STARTED of a step that is open.", true, "F043"},
		setOf(stepStarted, stepFinished), (*Chain).stepOrder},
	rowDoubled: {Info{"double_encoded_arguments", "Unpacks tool arguments that are a JSON text of a JSON object or array; such arguments are held back until the call's end.", false, "INV-14"},
		setOf(callArgs, callEnd, runFinished, runError), (*Chain).doubleEncoded},
	rowLeading: {Info{"leading_empty_arguments", "Drops an empty {} that stands before the real arguments of a tool call; it is held back until the next event of the call.", false, "INV-14"},
		setOf(callArgs, callEnd, runFinished, runError), (*Chain).leadingEmpty},
	rowEmptyArguments: {Info{"empty_arguments", "Gives a tool call that ends without arguments the arguments {}.", true, "F037"},
		setOf(callEnd, runFinished), (*Chain).emptyArguments},
	rowPatchList: {Info{"patch_list", "Reads a patch that is one operation instead of a list of them, or a text that holds the list.", true, "F041"},
		patches, (*Chain).patchList},
	rowPatchPaths: {Info{"patch_paths", "Puts the slash in front of patch paths that lack it.", false, "F041"},
		patches, (*Chain).patchPaths},
}

// rowsOf lists the rows of each kind.
var rowsOf = func() (of [kinds][]int) {
	for k := range of {
		for i := range table {
			if table[i].kinds.has(kind(k)) {
				of[k] = append(of[k], i)
			}
		}
	}
	return of
}()

// Steps lists every repair in the order events pass them.
func Steps() []Info {
	var out []Info
	for i := range table {
		out = append(out, table[i].Info)
	}
	return out
}

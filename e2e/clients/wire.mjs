// Sees what crosses the wire beside what the client library makes of it.

// A fetch for HttpAgent that hands each SSE frame of a response to `onFrame`
// the moment it arrives, and the response's head to `onHead`. The client gets
// the same bytes, untouched.
export function watchedFetch({ onHead, onFrame, onEnd }) {
  return async (url, init) => {
    const response = await fetch(url, init);
    onHead(response);
    if (!response.body) return response;
    const [forClient, forUs] = response.body.tee();
    readFrames(forUs, onFrame).then(
      () => onEnd(null),
      (error) => onEnd(error),
    );
    return new Response(forClient, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

// Frames end with LF LF [RUN-1]; comment lines are not events.
async function readFrames(stream, onFrame) {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const chunk of stream) {
    pending += decoder.decode(chunk, { stream: true });
    const frames = pending.split("\n\n");
    pending = frames.pop();
    for (const frame of frames) onFrame(frame);
  }
  if (pending !== "") onFrame(pending, true);
}

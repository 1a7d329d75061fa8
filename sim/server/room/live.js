// Reads Server-Sent Events with fetch, because an EventSource cannot send the token in a header.

import {PREFIX, headers, token} from './control.js';

const RETRY_MS = [250, 500, 1000, 2000, 4000];

// Reads /live and reconnects for as long as the page is open. Calls `onEvent(name, data)` for each
// event and `onState(live)` when the connection opens or is lost. A new connection resumes after
// the last row received.
export async function follow(onEvent, onState) {
  let last = '', failures = 0;
  for (;;) {
    try {
      const resume = last ? {'Last-Event-ID': last} : {};
      const answer = await fetch(PREFIX + '/live', {headers: headers({...resume, Accept: 'text/event-stream'})});
      if (!answer.ok) {
        last = ''; // it may be another run, which does not have that row
        throw new Error(`/live answers ${answer.status}`);
      }
      failures = 0;
      onState(true, answer.status);
      await readEvents(answer.body, event => {
        if (event.id) last = event.id;
        if (event.name === 'behind') last = '';
        onEvent(event.name, event.data);
      });
    } catch (problem) {
      if (problem instanceof SyntaxError) console.error(problem);
    }
    onState(false);
    await pause(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  }
}

const pause = duration => new Promise(done => {
  const timer = setTimeout(end, duration);
  addEventListener('online', end);
  addEventListener('tokenchange', end);
  function end() {
    clearTimeout(timer);
    removeEventListener('online', end);
    removeEventListener('tokenchange', end);
    done(token());
  }
});

async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const blocks = (buffered + value).split(/\r?\n\r?\n/);
    buffered = blocks.pop();
    for (const block of blocks) {
      const event = eventOf(block);
      if (event.data !== undefined) onEvent(event);
    }
  }
}

function eventOf(block) {
  const event = {name: 'message', id: '', data: undefined};
  const lines = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(':');
    if (at === 0) continue; // a comment: the server sends it to keep the connection open
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (field === 'event') event.name = value;
    else if (field === 'id') event.id = value;
    else if (field === 'data') lines.push(value);
  }
  if (lines.length || event.name !== 'message') event.data = lines.length ? JSON.parse(lines.join('\n')) : {};
  return event;
}

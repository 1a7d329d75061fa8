// Calls the control plane of the exchange. In a report, which has no exchange, the calls are
// answered from the run that is stored in the page. Only `live.js`, which reads the stream of
// events, also calls fetch.

import {answer as recordedAnswer, isReport} from './recorded.js';
import {patch, state} from './store.js';

export const PREFIX = '/_sim/v1';
const TOKEN = 'room.token';

// Reads the fragment of the address. `#token=…` moves to the storage of this tab, so that the token
// is neither in the browser's history nor in copied links. `#tour=1` starts the tour at that step.
export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get('tour')) patch({tour: Number(given.get('tour')) || 0});
  if (given.get('token') && !isReport) sessionStorage.setItem(TOKEN, given.get('token'));
  if (location.hash && !isReport) history.replaceState(null, '', location.pathname + location.search);
}

export const token = () => (isReport ? '' : sessionStorage.getItem(TOKEN) || '');

export function storeToken(text) {
  sessionStorage.setItem(TOKEN, text);
}

// Returns the address of another instance's control room. The fragment passes the token on.
export function roomUrl(control, more = {}) {
  const fragment = new URLSearchParams({...(token() ? {token: token()} : {}), ...more}).toString();
  return control + '/' + (fragment ? '#' + fragment : '');
}

export class Refusal extends Error {
  constructor(status, answer) {
    super(answer.message || `answered ${status}`);
    this.status = status;
    this.rule = answer.rule || '';
    this.remedy = answer.remedy || '';
  }
}

export function headers(more = {}) {
  return token() ? {...more, Authorization: 'Bearer ' + token()} : more;
}

async function send(verb, path, body, type, signal) {
  if (isReport) return valueOrRefusal(await recordedAnswer(verb, path));
  const options = {method: verb, headers: headers(), signal};
  if (body !== undefined) {
    options.body = typeof body === 'string' ? body : JSON.stringify(body);
    options.headers = headers({'Content-Type': type});
  }
  const answer = await fetch(PREFIX + path, options);
  const contentType = answer.headers.get('Content-Type') || '';
  const value = contentType.startsWith('application/json') ? await answer.json() : {message: await answer.text()};
  if (answer.status === 401) patch({needsToken: true});
  if (!answer.ok) throw new Refusal(answer.status, value);
  return {value, seq: Number(answer.headers.get('x-sim-seq') || NaN)};
}

function valueOrRefusal({status, value, seq}) {
  if (status !== 200) throw new Refusal(status, value);
  return {value, seq};
}

// Read a path of the control plane. `readWithSeq` returns {value, seq}, where `seq` is the last
// input that the answer takes into account; `read` returns the value alone.
export const readWithSeq = (path, signal) => send('GET', path, undefined, '', signal);
export const read = async (path, signal) => (await readWithSeq(path, signal)).value;

// Makes a call that changes something. The foot of the page shows the call with its answer, as text
// to copy. Throws Refusal if the exchange refuses the call.
export async function makeCall(verb, path, body = {}, type = 'application/json') {
  const call = {verb, path, body, type, at: Date.now()};
  patch({busy: state.busy + 1});
  try {
    const {value} = await send(verb, path, body, type);
    patch({lastCall: {...call, answer: value}, busy: state.busy - 1});
    return value;
  } catch (problem) {
    const problemText = problem.remedy ? `${problem.message} (${problem.remedy})` : problem.message;
    patch({lastCall: {...call, problem: problemText, status: problem.status || 0}, busy: state.busy - 1});
    throw problem;
  }
}

// Like `makeCall`, for buttons: returns null if the call is refused or cannot be sent. The foot of
// the page shows the reason.
export async function tryCall(...call) {
  try {
    return await makeCall(...call);
  } catch (problem) {
    if (!(problem instanceof Refusal) && !(problem instanceof TypeError)) throw problem;
    return null;
  }
}

// Downloads the calls that were made so far as a scenario file.
export async function saveScenario() {
  const call = {verb: 'GET', path: '/scenario', body: {}, type: 'application/json'};
  const answer = await fetch(PREFIX + '/scenario', {headers: headers()});
  const text = await answer.text();
  if (!answer.ok) {
    patch({lastCall: {...call, problem: text, status: answer.status}});
    return;
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'application/yaml'}));
  link.download = `${state.health.scenario}-by-hand.yaml`;
  link.click();
  URL.revokeObjectURL(link.href);
  patch({lastCall: {...call, answer: `${link.download}: ${text.split('\n').length} lines`}});
}

export const query = values => {
  const set = Object.entries(values).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return set.length ? '?' + new URLSearchParams(set) : '';
};

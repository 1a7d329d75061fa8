// Keeps the state of the page up to date with the running exchange, and changes the moment and the
// branch that the page shows.

import {read, roomOf, tryAct} from './control.js';
import {instant, ms} from './format.js';
import {follow} from './live.js';
import {isReport} from './recorded.js';
import {Rows} from './rows.js';
import {patch, state} from './store.js';

const COALESCE_MS = 120; // minimum time between two reads of the present state

export let rows = new Rows('', () => rowsChanged());

function rowsChanged() {
  patch({rowsVersion: (state.rowsVersion || 0) + 1});
}

export async function begin() {
  const narrow = matchMedia('(max-width: 1099px)');
  const slim = matchMedia('(max-width: 599px)');
  const measure = () => patch({narrow: narrow.matches, slim: slim.matches, tab: tabFor(narrow.matches)});
  for (const width of [narrow, slim]) width.addEventListener('change', measure);
  measure();
  if (isReport) onState(true); // there is no exchange to connect to
  else follow(onEvent, onState);
}

const ALONE = ['history', 'detail', 'book', 'trades']; // these are tabs on a narrow screen only
const tabFor = narrow =>
  narrow ? (state.tab === 'script' ? 'history' : state.tab) : ALONE.includes(state.tab) ? 'script' : state.tab;

let connections = 0;

// The page shows “live” only after `refresh` has read the state to which events apply.
async function onState(live) {
  const mine = ++connections;
  if (!live) patch({connection: 'lost'});
  else if ((await refresh()) && mine === connections) patch({connection: 'live'});
}

// Reads the complete state. Events afterwards contain only changes to it.
export async function refresh() {
  try {
    const [health, clock, branches] = await Promise.all([read('/health'), read('/clock'), read('/branches'), readScript()]);
    const current = branches.branches.find(one => one.current);
    if (state.branch && current && current.name !== state.branch) lookAnew();
    const shown = branches.branches.find(one => one.name === state.looked) || current;
    patch({
      health, finished: isReport || Boolean(health.replay), clock, seen: performance.now(), branches: branches.branches,
      branch: current ? current.name : '', needsToken: false,
      last: state.looked && shown ? shown.last_seq : Math.max(health.seq, current ? current.last_seq : 0),
    });
    rows.last = Math.max(rows.last, state.last);
    rows.walk();
    changed();
    document.title = `${health.scenario} · ${isReport ? `report, seed ${health.seed}` : 'control room'}`;
    return true;
  } catch (problem) {
    if (!problem.status) patch({connection: 'lost'});
    return false;
  }
}

// ---- events

function onEvent(name, data) {
  if (name === 'row') onRow(data);
  else if (name === 'clock') patch({clock: {...state.clock, ...data}, seen: performance.now()});
  else if (name === 'script') onScript(data);
  else if (name === 'jump') onJump();
  else if (name === 'behind') refresh();
  else if (name === 'replay') onReplay(data);
  if (name === 'clock') changed();
}

let incoming = 0;

function onRow(row) {
  if (state.looked) {
    changed();
    return;
  }
  if (row.seq > rows.last + 1) refresh();
  rows.add(row);
  if (!incoming) {
    incoming = requestAnimationFrame(() => {
      incoming = 0;
      patch({last: rows.last});
      rowsChanged();
      if (rows.walked < rows.last) rows.walk();
    });
  }
  changed();
}

function onJump() {
  lookAnew();
  refresh();
}

function lookAnew() {
  rows.end();
  rows = new Rows('', rowsChanged);
  patch({looked: '', moment: null, chosen: null, playing: 0, rowsVersion: (state.rowsVersion || 0) + 1});
}

// A finished run is replayed when it is opened. Its rows can be read before the replay is complete.
function onReplay(replay) {
  patch({health: {...state.health, replay}});
  if (replay.inputs >= replay.of) refresh();
}

// The event contains only the steps that have changed.
function onScript({steps, failed}) {
  const known = state.script.steps;
  if (!steps.length || steps.at(-1).n > known.length) {
    readScript();
    return;
  }
  const changed = new Map(steps.map(step => [step.n, step]));
  patch({script: {steps: known.map(step => changed.get(step.n) || step), failed}});
}

async function readScript() {
  patch({script: await read('/script').catch(() => state.script)});
}

let soon = 0, lastChange = 0;

// Makes the panels read the present state again, at most once in COALESCE_MS.
export function changed() {
  if (soon) return;
  const wait = Math.max(0, COALESCE_MS - (performance.now() - lastChange));
  soon = setTimeout(() => {
    soon = 0;
    lastChange = performance.now();
    patch({version: state.version + 1});
  }, wait);
}

// ---- moments

export const isPast = () => state.moment !== null;

// Shows everything as it was right after an input. The last input of the running branch means now.
export function goTo(seq, {choose = false} = {}) {
  const to = Math.max(state.first, Math.min(state.last, Math.round(seq)));
  const moment = to >= state.last && !state.looked ? null : to;
  patch(choose ? {moment, chosen: to || null} : {moment});
}

export function backToNow() {
  patch({playing: 0});
  if (state.looked) lookAt('');
  patch({moment: null});
}

export const choose = seq => patch({chosen: seq});

// Shows the end of another branch; '' is the running branch.
export async function lookAt(name) {
  const branch = name === state.branch ? '' : name;
  const found = (state.branches || []).find(one => one.name === (branch || state.branch));
  rows.end();
  rows = new Rows(branch, rowsChanged);
  rows.last = found ? found.last_seq : state.health.seq;
  patch({
    looked: branch, last: rows.last, moment: branch ? rows.last : null, chosen: null,
    rowsVersion: (state.rowsVersion || 0) + 1,
  });
  rows.walk();
  if (!branch) refresh();
}

export const branchQuery = () => (state.looked ? {branch: state.looked} : {});

// ---- replay

let replay = 0;

// Replays from the moment shown, at `speed` virtual seconds a second. Long waits are shortened.
export async function play(speed) {
  const mine = ++replay;
  patch({playing: speed});
  if (!speed) return;
  if (state.moment === null) patch({moment: state.first});
  let at = state.moment ? (await rows.row(state.moment))?.at : undefined;
  while (mine === replay && state.playing && state.moment !== null && state.moment < state.last) {
    const next = await rows.row(state.moment + 1);
    if (!next || mine !== replay) break;
    const gap = at ? (ms(next.at) - ms(at)) / speed : 0;
    await new Promise(done => setTimeout(done, Math.min(Math.max(gap, 60 / speed + 8), 1200)));
    if (mine !== replay || !state.playing || state.moment === null) break;
    at = next.at;
    goTo(next.seq, {choose: true});
  }
  if (mine === replay) patch({playing: 0});
}

// ---- what changes the exchange

export async function advance(text) {
  const to = /^\d{4}-/.test(text) ? {to: text} : {by: text};
  return await tryAct('POST', '/clock/advance', {...to, fired: 'counts'});
}

export async function forkHere() {
  const seq = state.moment ?? state.last;
  const made = await tryAct('POST', '/fork', {seq, ...branchQuery()});
  if (made) patch({forked: {name: made.world, url: roomOf(made.control), seq}});
}

export async function rewindHere() {
  const seq = state.moment ?? state.last;
  const sure = await confirm(
    `Rewind the running exchange to input ${seq}?`,
    'Open streams of clients end, what came after it stays on its branch, and the exchange goes on from here.',
    'Rewind',
  );
  if (sure && (await tryAct('POST', '/rewind', {seq}))) {
    lookAnew();
    await refresh();
  }
}

// Asks the user before an action that cannot be undone. Resolves to false on Cancel and on Escape.
export const confirm = (question, consequences, yes) =>
  new Promise(done => patch({asking: {question, consequences, yes, done}}));

// Returns virtual now. A paced clock advances between two events, so the page estimates it.
export function clockNow() {
  const {clock} = state;
  if (!clock) return null;
  const rate = /^paced(?::(\d+(?:\.\d+)?))?$/.exec(clock.mode || '');
  if (!rate || state.connection !== 'live') return clock.now;
  const moved = (performance.now() - state.seen) * Number(rate[1] || 1);
  const due = clock.next_due ? ms(clock.next_due) : Infinity;
  return instant(Math.min(ms(clock.now) + moved, Math.max(due, ms(clock.now))));
}

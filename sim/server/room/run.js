// Keeps the state of the page up to date with the running exchange, and changes the moment and the
// branch that the page shows.

import {read, roomUrl, tryCall} from './control.js';
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

const NARROW_ONLY_TABS = ['history', 'detail', 'book', 'trades']; // these are tabs on a narrow screen only
const tabFor = narrow =>
  narrow ? (state.tab === 'script' ? 'history' : state.tab) : NARROW_ONLY_TABS.includes(state.tab) ? 'script' : state.tab;

let connections = 0;

// The page shows “live” only after `refresh` has read the state to which events apply.
async function onState(live) {
  const attempt = ++connections;
  if (!live) patch({connection: 'lost'});
  else if ((await refresh()) && attempt === connections) patch({connection: 'live'});
}

// Reads the complete state. Events afterwards contain only changes to it.
export async function refresh() {
  try {
    const [health, clock, branches] = await Promise.all([read('/health'), read('/clock'), read('/branches'), readScript()]);
    const current = branches.branches.find(one => one.current);
    if (state.branch && current && current.name !== state.branch) resetView();
    const shown = branches.branches.find(one => one.name === state.viewedBranch) || current;
    patch({
      health, finished: isReport || Boolean(health.replay), clock, clockReceivedAt: performance.now(), branches: branches.branches,
      branch: current ? current.name : '', needsToken: false,
      last: state.viewedBranch && shown ? shown.last_seq : Math.max(health.seq, current ? current.last_seq : 0),
    });
    rows.last = Math.max(rows.last, state.last);
    rows.indexAll();
    presentChanged();
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
  else if (name === 'clock') patch({clock: {...state.clock, ...data}, clockReceivedAt: performance.now()});
  else if (name === 'script') onScript(data);
  else if (name === 'jump') onJump();
  else if (name === 'behind') refresh();
  else if (name === 'replay') onReplay(data);
  if (name === 'clock') presentChanged();
}

let incoming = 0;

function onRow(row) {
  if (state.viewedBranch) {
    presentChanged();
    return;
  }
  if (row.seq > rows.last + 1) refresh();
  rows.add(row);
  if (!incoming) {
    incoming = requestAnimationFrame(() => {
      incoming = 0;
      patch({last: rows.last});
      rowsChanged();
      if (rows.indexed < rows.last) rows.indexAll();
    });
  }
  presentChanged();
}

function onJump() {
  resetView();
  refresh();
}

function resetView() {
  rows.close();
  rows = new Rows('', rowsChanged);
  patch({viewedBranch: '', moment: null, chosen: null, playing: 0, rowsVersion: (state.rowsVersion || 0) + 1});
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
  const changedSteps = new Map(steps.map(step => [step.n, step]));
  patch({script: {steps: known.map(step => changedSteps.get(step.n) || step), failed}});
}

async function readScript() {
  patch({script: await read('/script').catch(() => state.script)});
}

let changeTimer = 0, lastChange = 0;

// Makes the panels read the present state again, at most once in COALESCE_MS.
export function presentChanged() {
  if (changeTimer) return;
  const wait = Math.max(0, COALESCE_MS - (performance.now() - lastChange));
  changeTimer = setTimeout(() => {
    changeTimer = 0;
    lastChange = performance.now();
    patch({version: state.version + 1});
  }, wait);
}

// ---- moments

export const isPast = () => state.moment !== null;

// Shows everything as it was right after an input. The last input of the running branch means now.
export function goTo(seq, {choose = false} = {}) {
  const to = Math.max(state.first, Math.min(state.last, Math.round(seq)));
  const moment = to >= state.last && !state.viewedBranch ? null : to;
  patch(choose ? {moment, chosen: to || null} : {moment});
}

export function backToNow() {
  patch({playing: 0});
  if (state.viewedBranch) viewBranch('');
  patch({moment: null});
}

export const choose = seq => patch({chosen: seq});

// Shows the end of another branch; '' is the running branch.
export async function viewBranch(name) {
  const branch = name === state.branch ? '' : name;
  const found = (state.branches || []).find(one => one.name === (branch || state.branch));
  rows.close();
  rows = new Rows(branch, rowsChanged);
  rows.last = found ? found.last_seq : state.health.seq;
  patch({
    viewedBranch: branch, last: rows.last, moment: branch ? rows.last : null, chosen: null,
    rowsVersion: (state.rowsVersion || 0) + 1,
  });
  rows.indexAll();
  if (!branch) refresh();
}

export const branchQuery = () => (state.viewedBranch ? {branch: state.viewedBranch} : {});

// ---- replay

let replay = 0;

// Replays from the moment shown, at `speed` virtual seconds a second. Long waits are shortened.
export async function play(speed) {
  const attempt = ++replay;
  patch({playing: speed});
  if (!speed) return;
  if (state.moment === null) patch({moment: state.first});
  let at = state.moment ? (await rows.row(state.moment))?.at : undefined;
  while (attempt === replay && state.playing && state.moment !== null && state.moment < state.last) {
    const next = await rows.row(state.moment + 1);
    if (!next || attempt !== replay) break;
    const gap = at ? (ms(next.at) - ms(at)) / speed : 0;
    await new Promise(done => setTimeout(done, Math.min(Math.max(gap, 60 / speed + 8), 1200)));
    if (attempt !== replay || !state.playing || state.moment === null) break;
    at = next.at;
    goTo(next.seq, {choose: true});
  }
  if (attempt === replay) patch({playing: 0});
}

// ---- what changes the exchange

export async function advance(text) {
  const to = /^\d{4}-/.test(text) ? {to: text} : {by: text};
  return await tryCall('POST', '/clock/advance', {...to, fired: 'counts'});
}

export async function forkHere() {
  const seq = state.moment ?? state.last;
  const fork = await tryCall('POST', '/fork', {seq, ...branchQuery()});
  if (fork) patch({forked: {name: fork.world, url: roomUrl(fork.control), seq}});
}

export async function rewindHere() {
  const seq = state.moment ?? state.last;
  const sure = await confirm(
    `Rewind the running exchange to input ${seq}?`,
    'Open streams of clients end, what came after it stays on its branch, and the exchange goes on from here.',
    'Rewind',
  );
  if (sure && (await tryCall('POST', '/rewind', {seq}))) {
    resetView();
    await refresh();
  }
}

// Asks the user before an action that cannot be undone. Resolves to false on Cancel and on Escape.
export const confirm = (question, consequences, yes) =>
  new Promise(done => patch({confirmation: {question, consequences, yes, done}}));

// Returns virtual now. A paced clock advances between two events, so the page estimates it.
export function clockNow() {
  const {clock} = state;
  if (!clock) return null;
  const rate = /^paced(?::(\d+(?:\.\d+)?))?$/.exec(clock.mode || '');
  if (!rate || state.connection !== 'live') return clock.now;
  const moved = (performance.now() - state.clockReceivedAt) * Number(rate[1] || 1);
  const due = clock.next_due ? ms(clock.next_due) : Infinity;
  return instant(Math.min(ms(clock.now) + moved, Math.max(due, ms(clock.now))));
}

// The head of the page: the name of the run, virtual time, and the controls of the clock.

import {tryCall} from '../control.js';
import {inEastern, utc} from '../format.js';
import {advance, backToNow, clockNow, confirm, refresh} from '../run.js';
import {isReport} from '../recorded.js';
import {patch, useKeys} from '../store.js';
import {nextTheme, theme} from '../theme.js';
import {html, useEffect, useReducer, useState} from '../vendor/preact-htm.js';

const MODES = ['manual', 'autojump', 'fast', 'paced', 'paced:10', 'paced:60', 'paced:600'];
const STEPS = ['1s', '1m', '1h'];

function Now() {
  const {clock, moment, momentAt} = useKeys('clock', 'clockReceivedAt', 'moment', 'momentAt', 'connection');
  const [, tick] = useReducer(count => count + 1, 0);
  const paced = clock && /^paced/.test(clock.mode || '') && moment === null;
  useEffect(() => {
    if (!paced) return undefined;
    const timer = setInterval(() => document.hidden || tick(), 200);
    return () => clearInterval(timer);
  }, [paced]);
  const at = moment === null ? clockNow() : momentAt;
  if (!at) return html`<div class="now"><time data-testid="clock-now" datetime="">…</time></div>`;
  const {date, time, fraction, zone} = inEastern(at);
  return html`<div class="now">
    <time data-testid="clock-now" datetime=${at} class="num" aria-label="virtual time">
      <span class="day">${date}</span> <b>${time}</b><span class="faint">${fraction} ${zone}</span></time>
    <span class="faint num utc">${utc(at)}</span>
  </div>`;
}

function Advance() {
  const {clock, busy} = useKeys('clock', 'busy');
  const [text, setText] = useState('');
  const go = event => {
    event.preventDefault();
    backToNow();
    advance(text.trim() || '1m');
  };
  const next = () => {
    backToNow();
    tryCall('POST', '/clock/advance', {next: 1, fired: 'counts'});
  };
  const move = by => {
    backToNow();
    advance(by);
  };
  const mode = clock ? clock.mode : 'manual';
  return html`<form class="advance" onSubmit=${go}>
    <input data-testid="clock-advance" aria-label="Advance the clock by a duration, or to an instant"
      placeholder="5m, instant" value=${text} onInput=${event => setText(event.target.value)} spellcheck="false" />
    <button data-testid="clock-advance-go" disabled=${busy > 0}>Advance</button>
    ${STEPS.map(by => html`<button type="button" class="quiet" onClick=${() => move(by)} title=${`advance by ${by}`}>+${by}</button>`)}
    <button type="button" data-testid="clock-next" onClick=${next} disabled=${!clock?.next_due}
      title=${clock?.next_due ? `next: ${utc(clock.next_due)}` : 'nothing is due'}>Next event</button>
    <select data-testid="clock-mode" aria-label="Mode and pace of the clock" value=${mode}
      onChange=${event => tryCall('PUT', '/clock', {mode: event.target.value}).then(refresh)}>
      ${[...new Set([...MODES, mode])].map(one => html`<option value=${one} selected=${one === mode}>${one}</option>`)}
    </select>
  </form>`;
}

// Tells the reader that this is a report, and what it does not contain.
function ReportNotice({health}) {
  return html`<span class="over" data-testid="report">${health && health.stopped
    ? html`<b class="bad">replayed up to input ${health.reached} only</b>: ${health.stopped}`
    : html`<span class="wide">a report of a run that is over</span>`}${health?.notices?.length ? html`, with <b>${health.notices.join('; ')}</b>` : ''}</span>`;
}

export function Clock() {
  const {health, connection} = useKeys('health', 'connection');
  const [, redraw] = useReducer(count => count + 1, 0);
  const reset = async () => {
    const sure = await confirm('Reset the exchange to the scenario’s start?',
      'Streams of clients end, their tokens stop working; the past stays as a branch.', 'Reset');
    if (sure) await tryCall('POST', '/reset', {});
  };
  return html`<header class="head">
    <h1 title=${health ? `${health.scenario}, seed ${health.seed}` : ''}><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M6 22h5V10H6zM13.500 22h5V6h-5zM21 22h5v-8h-5z" fill="currentColor" /></svg>
      <span class="visually-hidden">${isReport ? 'Report of' : 'Control room of'} </span><span>${health ? health.scenario : '…'}</span>
      <span class="faint num seed">seed ${health ? health.seed : '…'}</span></h1>
    <${Now} />
    ${isReport ? html`<${ReportNotice} health=${health} />` : health && health.replay ? html`<span class="over" data-testid="finished">a finished run: read it, fork from any moment${
      health.replay.inputs < health.replay.of ? html` · replayed <b class="num">${health.replay.inputs} of ${health.replay.of}</b>` : ''}</span>` : html`<${Advance} />`}
    <div class="corner">
      ${!isReport && !(health && health.replay) && html`<button class="quiet" data-testid="reset" onClick=${reset} title="back to the scenario's start">Reset</button>`}
      ${!isReport && html`<button class="quiet" onClick=${() => patch({tour: 0})} title="a short guided tour">Tour</button>`}
      <button class="quiet" onClick=${() => { nextTheme(); redraw(); }} title="light, dark, or as the system says">${theme()}</button>
      <span class=${'connection ' + connection} data-testid="connection" data-state=${connection} role="status">
        ${isReport ? 'report' : connection === 'live' ? 'live' : 'connection lost'}</span>
    </div>
  </header>`;
}

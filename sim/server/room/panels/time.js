// The timeline: a slider over all inputs with marks for refusals, faults, fills and the like,
// buttons to fork, rewind and replay, and the moment shown.

import {grouped, inEastern, plural} from '../format.js';
import {backToNow, choose, forkHere, goTo, play, rewindHere, rows} from '../run.js';
import {FAULT, FILL, MAINTENANCE, REFUSED, STATE, STEP} from '../rows.js';
import {isReport} from '../recorded.js';
import {patch, state, useKeys} from '../store.js';
import {colourOf} from '../theme.js';
import {html, useEffect, useLayoutEffect, useRef} from '../vendor/preact-htm.js';
import {useMoment} from '../views.js';

const LANES = [
  [REFUSED, '--bad', 'refused'], [FAULT, '--fault', 'fault'], [FILL, '--fill', 'fill'],
  [STATE, '--wait', 'state'], [MAINTENANCE, '--accent', 'maintenance'], [STEP, '--faint', 'step'],
];
const PAGES = 20; // presses of PageDown from the start of the run to its end

function paint(canvas) {
  const {width, height} = canvas.getBoundingClientRect();
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  const {last} = state, span = Math.max(1, last);
  const lane = height / LANES.length;
  LANES.forEach(([bit, colour], place) => {
    pen.fillStyle = colourOf(canvas.parentElement, colour);
    let drawn = -1;
    for (let seq = 1; seq <= Math.min(rows.indexed, last); seq++) {
      if (!(rows.marks[seq] & bit)) continue;
      const x = Math.round((seq / span) * (width - 3));
      if (x !== drawn) pen.fillRect(x, place * lane + 0.5, 2.5, lane - 1);
      drawn = x;
    }
  });
}

function Scrubber() {
  const {moment, last, first} = useKeys('moment', 'last', 'first', 'rowsVersion', 'viewedBranch');
  const canvas = useRef(null), frameRequest = useRef(0);
  const value = moment ?? last;
  const {indexed} = rows; // repaint when there are new marks, not for each page of rows
  useLayoutEffect(() => { paint(canvas.current); }, [rows, indexed, last]);
  useEffect(() => {
    const repaint = () => canvas.current && paint(canvas.current);
    const watch = new ResizeObserver(repaint);
    watch.observe(canvas.current);
    addEventListener('themechange', repaint);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', repaint);
    return () => {
      watch.disconnect();
      removeEventListener('themechange', repaint);
      dark.removeEventListener('change', repaint);
    };
  }, []);
  const to = seq => {
    patch({playing: 0});
    cancelAnimationFrame(frameRequest.current);
    frameRequest.current = requestAnimationFrame(() => goTo(seq));
  };
  const keys = event => {
    const page = Math.max(1, Math.round((last - first) / PAGES));
    const steps = {
      ArrowLeft: value - 1, ArrowDown: value - 1, ArrowRight: value + 1, ArrowUp: value + 1,
      PageDown: value - page, PageUp: value + page, Home: first, End: last,
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    patch({playing: 0});
    goTo(steps[event.key]);
  };
  return html`<div class="scrubber">
    <canvas ref=${canvas} aria-hidden="true"></canvas>
    <input type="range" role="slider" data-testid="scrubber" min=${first} max=${last} step="1" value=${value}
      aria-label="Moment of the run, by input" aria-valuemin=${first} aria-valuemax=${last} aria-valuenow=${value}
      aria-valuetext=${moment === null ? `now, input ${last}` : `input ${moment} of ${last}`}
      onInput=${event => to(Number(event.target.value))} onKeyDown=${keys} />
  </div>`;
}

export function Time() {
  const {moment, last, branch, viewedBranch, playing, rowsVersion, chosen, momentAt, finished} =
    useKeys('moment', 'last', 'branch', 'viewedBranch', 'playing', 'rowsVersion', 'chosen', 'momentAt', 'finished');
  const known = useMoment();
  const digest = known.rows && (moment === null || known.seq === moment) ? known.rows.digest : '';
  const past = moment !== null;
  const {date, time, zone} = inEastern(momentAt || '');
  return html`<section class="time" aria-label="Time of the run">
    <${Scrubber} />
    <div class="buttons">
      ${!isReport && html`<button data-testid="fork-here" onClick=${forkHere} title="another instance that begins as this moment">Fork here</button>
      <button data-testid="rewind-here" onClick=${rewindHere} disabled=${!past || !!viewedBranch || finished}
        title=${finished ? 'a finished run stays as it is' : past ? 'move the running exchange back to this moment' : 'look at an earlier moment first'}>Rewind here</button>`}
      <span class="group" role="group" aria-label="Replay">
        ${[1, 10, 100].map(speed => html`<button aria-pressed=${playing === speed} data-testid=${'replay-' + speed}
          title=${`replay at ${speed} virtual seconds a second; long waits are cut`}
          onClick=${() => play(playing === speed ? 0 : speed)}>${playing === speed ? '❚❚' : '▶'} ${speed}×</button>`)}
      </span>
    </div>
    <div class="where">
      ${past
        ? html`<div class="banner" data-testid="banner-past" role="status">
            <b>${viewedBranch ? `Branch ${viewedBranch}` : 'The past'}</b>
            <span class="num">input ${grouped(moment)} of ${grouped(last)}</span>
            ${momentAt && html`<span class="num wide">${date} ${time} ${zone}</span>`}
            <button class="main" data-testid="back-to-now" onClick=${backToNow}>${finished ? 'To the end' : 'Back to now'}</button>
            ${moment > 0 && chosen !== moment && html`<button class="quiet wide" onClick=${() => choose(moment)}>What happened here</button>`}
          </div>`
        : html`<span class="present"><b>${finished ? 'The end' : 'Now'}</b> <span class="num">input ${grouped(last)}</span>
            <span class="faint">${/^branch/.test(branch || '') ? '' : 'branch '}${branch || 'main'}</span></span>`}
      <span class="legend" aria-hidden="true">${LANES.map(([, colour, name]) =>
        html`<span><i style=${{background: `var(${colour})`}}></i>${name}</span>`)}
        ${rows.indexed < last && rowsVersion >= 0 ? html`<span>${plural(last - rows.indexed, 'row')} to read</span>` : ''}</span>
      <code class="digest num" data-testid="digest" data-digest=${digest} title=${'digest ' + digest}>${digest.slice(0, 12) || '…'}</code>
    </div>
  </section>`;
}

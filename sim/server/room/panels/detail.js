// The chosen input: the request, the answer, what it caused, what was sent, and why.

import {query} from '../control.js';
import {headline} from '../format.js';
import {branchQuery, choose, goTo, rows} from '../run.js';
import {patch, useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useOnce} from '../views.js';
import {Empty, Tag, When} from '../widgets.js';
import {Json, Why} from './record.js';

// Returns the rows shortly after an input that have it as their cause.
function useEffects(seq) {
  const {rowsVersion} = useKeys('rowsVersion');
  const found = [];
  for (let next = seq + 1; next < seq + 60 && found.length < 8; next++) {
    const row = next <= rows.last ? rows.at(next) : undefined;
    if (row && row.caused_by === seq) found.push(row);
  }
  return rowsVersion === -1 ? [] : found;
}

const InputLink = ({row, arrow}) => html`<span class="cause"><span class="faint" aria-hidden="true">${arrow} </span><button class="link"
  onClick=${() => choose(row.seq)} data-seq=${row.seq} title=${headline(row)}><span class="num">#${row.seq}</span> ${headline(row)}</button></span>`;

const CAUSES_SHOWN = 3; // causes that are not collapsed; a timer may have twenty

// The inputs that led to an input, oldest first, and those that it led to.
function Causes({causes, effects}) {
  if (!causes.length && !effects.length) return null;
  const earlier = causes.slice(0, -CAUSES_SHOWN);
  return html`<nav class="causes" aria-label="Causes and effects">
    ${causes.length > 0 && html`<h3>Comes of</h3>`}
    ${earlier.length > 0 && html`<details><summary>${earlier.length} earlier</summary>${earlier.map(one => html`<${InputLink} key=${one.seq} row=${one} arrow="→" />`)}</details>`}
    ${causes.slice(-CAUSES_SHOWN).map(one => html`<${InputLink} key=${one.seq} row=${one} arrow="→" />`)}
    ${effects.length > 0 && html`<h3>Led to</h3>${effects.map(one => html`<${InputLink} key=${one.seq} row=${one} arrow="→" />`)}`}
  </nav>`;
}

// The parts of a record: key, title, and whether it is expanded at first.
const PARTS = [
  ['input', 'Asked', true], ['answer', 'Answered', true], ['steps', 'Steps', true], ['events', 'Events', true],
  ['webhooks', 'Webhooks sent', true], ['frames', 'Frames sent', false], ['closed', 'Streams ended', true],
  ['answered', 'Held answers given', false], ['fired', 'Fired', false],
];

function Part({title, value, open = true, children}) {
  if (children === undefined && (value === null || value === undefined || value === '' ||
      (Array.isArray(value) && !value.length) || (typeof value === 'object' && !Object.keys(value).length))) return null;
  return html`<details class="part" open=${open}><summary>${title}</summary>${children ?? html`<${Json} value=${value} />`}</details>`;
}

export function Detail() {
  const {chosen, moment, viewedBranch, narrow} = useKeys('chosen', 'moment', 'viewedBranch', 'narrow', 'rowsVersion');
  const record = useOnce(chosen ? `/history/${chosen}${query(branchQuery())}` : null, undefined);
  const loaded = record.rows && record.rows.seq === chosen ? record.rows : null;
  const row = chosen ? loaded || rows.at(chosen) : null;
  const causes = loaded ? loaded.causes || [] : [];
  const effects = useEffects(chosen || 0);
  return html`<section class="detail pane" data-testid="detail" data-seq=${chosen ?? ''} aria-label="The chosen input">
    <div class="pane-head"><h2>${chosen ? `Input ${chosen}` : 'Detail'}</h2>
      ${row && html`<${When} at=${row.at} />`}
      ${chosen && html`<span class="push"></span>
        <button onClick=${() => goTo(chosen)} disabled=${moment === chosen && !viewedBranch} data-testid="look-here"
          title="show everything as it was right after this input">Look here</button>
        <button class="quiet" aria-label="close" onClick=${() => choose(null)}>×</button>`}
    </div>
    <div class="scroll" tabindex="0">
      ${!chosen ? html`<${Empty}>Choose a row: what was asked, what was answered, what it caused, and why.
          Arrow keys walk through the rows, Enter looks at the moment.<//>`
        : record.problem && !loaded ? html`<${Empty}>${record.problem}<//>`
        : !row ? html`<${Empty}>…<//>`
        : html`
          <div class="headline"><span class=${'kind kind-' + row.kind}>${row.kind}</span> <b>${headline(row)}</b>
            ${row.status !== null && row.status !== undefined && html`<${Tag} tone=${row.ok === false ? 'bad' : 'good'}>${row.status}<//>`}
            ${row.subject && !headline(row).includes(row.subject) && html`<span class="faint">${row.subject}</span>`}
            ${/^[\w.~:@+=-]+$/.test(row.subject) && html`<button class="link" onClick=${() => patch({symbol: row.subject, ...(narrow ? {tab: 'book'} : {})})}>its book</button>`}
            ${/^stream\/\d+$/.test(row.subject) && html`<button class="link" data-testid="its-frames"
              onClick=${() => patch({stream: Number(row.subject.slice(7)), tab: 'streams'})}>its frames</button>`}
            ${row.caller && html`<span class="faint">by ${row.caller}</span>`}</div>
          <${Causes} causes=${causes} effects=${effects} />
          ${loaded && html`<${Why} why=${loaded.why} />`}
          ${loaded ? PARTS.map(([key, title, open]) => html`<${Part} key=${key} title=${title} value=${loaded[key]} open=${open} />`) : html`<${Empty}>…<//>`}`}
    </div>
  </section>`;
}

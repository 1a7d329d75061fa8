// The history of the run: one row for each input.

import {easternFraction, grouped, headline, lastPart, easternTime, utc} from '../format.js';
import {choose, goTo, rows} from '../run.js';
import {isBad} from '../rows.js';
import {useKeys} from '../store.js';
import {html, useEffect, useRef, useState} from '../vendor/preact-htm.js';
import {Empty, PureComponent, VirtualList, cx} from '../widgets.js';

const ROW = 25;

// Returns the title of a row. That of a step omits its line in the file, to save space; the record
// of the input has it.
const listTitle = row => (row.kind === 'step' ? headline(row).replace(/ \([^()]*:\d+\)$/, '') : headline(row));

// Returns why a row is bad. The status has its own column.
const resultText = row => String(row.result || '').replace(new RegExp(`^${row.status}[ ,]*`), '');

class Row extends PureComponent {
  render({seq, row, chosen, late, here}) {
    if (!row) return html`<div class="row" data-seq=${seq}><span class="num seq">${seq}</span><span class="faint">…</span></div>`;
    return html`<div class=${cx('row', chosen && 'chosen', late && 'late', here && 'here', isBad(row) && 'bad')}
        role="row" aria-selected=${chosen} data-testid="history-row" data-seq=${seq} data-kind=${row.kind}
        onClick=${() => choose(seq)} onDblClick=${() => goTo(seq)}>
      <span class="num seq" role="cell">${grouped(seq)}</span>
      <span class="num at" role="cell" title=${utc(row.at)}>${easternTime(row.at)}<span class="wide">${easternFraction(row.at)}</span></span>
      <span class=${'kind kind-' + row.kind} role="cell">${row.kind}</span>
      <span class="title" role="cell" title=${`${row.title} ${row.result || ''}`}>${listTitle(row)}
        ${isBad(row) ? html`<i class="bad">${resultText(row)}</i>` : ''} ${row.subject && !headline(row).includes(row.subject) ? html`<i>${row.subject}</i>` : ''}</span>
      <span class="who" role="cell" title=${row.caller || row.who || ''}>${lastPart(row.caller || row.who)}</span>
      <span class="status num" role="cell">${row.status ?? ''}</span>
    </div>`;
  }
}

// Returns the inputs that match the filter, or null if there is no filter.
function useMatches(text) {
  const {rowsVersion, viewedBranch} = useKeys('rowsVersion', 'viewedBranch');
  const memory = useRef({});
  if (!text.trim()) return null;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const key = viewedBranch + '\0' + words.join(' ');
  const cached = memory.current;
  if (cached.key !== key || cached.rows !== rows) Object.assign(cached, {key, rows, seqs: [], until: 0});
  if (rows.indexed > cached.until) {
    cached.seqs = cached.seqs.concat(rows.search(words, cached.until + 1));
    cached.until = rows.indexed;
  }
  return rowsVersion === -1 ? null : cached.seqs;
}

// Returns the index to scroll to: that of the moment or of the chosen row, whichever changed last.
function useScrollTarget(moment, chosen, placeOf) {
  const previous = useRef({moment: null, chosen: null, focus: -1}).current;
  if (moment !== previous.moment && moment !== null) previous.focus = placeOf(moment);
  if (chosen !== previous.chosen && chosen !== null) previous.focus = placeOf(chosen);
  Object.assign(previous, {moment, chosen});
  return previous.focus;
}

export function History() {
  const {chosen, moment, last, slim} = useKeys('chosen', 'moment', 'last', 'slim', 'rowsVersion', 'viewedBranch');
  const [text, setText] = useState('');
  const matches = useMatches(text);
  const field = useRef(null);
  const count = matches ? matches.length : last;
  const seqAt = index => (matches ? matches[index] : index + 1);
  const focused = chosen ?? moment;
  const placeOf = seq => (matches ? matches.indexOf(seq) : seq - 1);
  const focus = useScrollTarget(moment, chosen, placeOf);

  useEffect(() => {
    const slash = event => {
      if (event.key !== '/' || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener('keydown', slash);
    return () => removeEventListener('keydown', slash);
  }, []);

  const keys = event => {
    const here = focused ? placeOf(focused) : count;
    const steps = {ArrowUp: here - 1, ArrowDown: here + 1, PageUp: here - 15, PageDown: here + 15, Home: 0, End: count - 1};
    if (event.key === 'Enter' && chosen) goTo(chosen);
    else if (event.key in steps && count) {
      const seq = seqAt(Math.max(0, Math.min(count - 1, steps[event.key])));
      choose(seq);
    } else return;
    event.preventDefault();
  };
  return html`<section class="history pane">
    <div class="pane-head">
      <h2>History</h2>
      <input type="search" data-testid="history-filter" ref=${field} value=${text} spellcheck="false"
        placeholder=${slim ? 'filter: kind, caller, status, …' : 'filter: kind, title, subject, caller, status   ( / )'}
        aria-label="Filter by kind, title, subject, caller, status" onInput=${event => setText(event.target.value)} />
      <span class="faint num">${matches ? `${grouped(count)} of ${grouped(last)}` : grouped(last)}</span>
    </div>
    <div class="fill" data-testid="history" role="grid" aria-label="Inputs of the run" aria-rowcount=${count}>
      ${count === 0
        ? html`<${Empty}>${matches ? (rows.indexed < last ? 'searching…' : 'No row has all of these words.')
            : 'Nothing has happened yet. Send a call, or move the clock.'}<//>`
        : html`<${VirtualList} count=${count} height=${ROW} label="Inputs" follow=${moment === null && chosen === null}
            focus=${focus} onKeyDown=${keys}
            render=${index => {
              const seq = seqAt(index);
              return html`<${Row} key=${seq} seq=${seq} row=${rows.at(seq)} chosen=${seq === chosen}
                late=${moment !== null && seq > moment} here=${seq === moment} />`;
            }} />`}
      ${matches && !rows.searchedAll && rows.indexed >= last ? html`<${Empty}>Only the first 150,000 inputs are searched.<//>` : ''}
    </div>
  </section>`;
}

// Components that several panels use.

import {inEastern, utc} from './format.js';
import {patch, useKeys} from './store.js';
import {Component, html, useEffect, useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

export const cx = (...names) => names.filter(Boolean).join(' ');

// A virtual instant in Eastern time, with UTC as its tooltip. The style sheet hides the day in a
// `brief` column of a narrow screen.
export const When = ({at, long}) => {
  const {date, time, zone} = inEastern(at);
  return html`<time class="num" datetime=${at} title=${`${date} ${time} ${zone} · ${utc(at)}`}>
    ${long ? `${date} ${time} ${zone}` : html`<span class="day">${date && `${date.slice(5)} `}</span>${time}`}</time>`;
};

export const Empty = ({children}) => html`<p class="empty">${children}</p>`;

// The content of a panel: `children` once the view has rows, otherwise an ellipsis, `empty` or the
// error.
export function ViewContent({view, empty, children}) {
  if (view.problem) return html`<${Empty}>${view.problem}<//>`;
  if (view.rows === null) return html`<${Empty}>…<//>`;
  if (Array.isArray(view.rows) && !view.rows.length) return html`<${Empty}>${empty}<//>`;
  return children;
}

// Draws the visible part of a long list. `count` rows of `height` pixels; `render(index)` draws
// one.
export function VirtualList({count, height, render, focus, follow, testid, label, role = 'rowgroup', onKeyDown, header}) {
  const box = useRef(null);
  const [, redraw] = useReducer(times => times + 1, 0);
  // The visible range. It is cached because reading it forces a layout of the page.
  const view = useRef({top: 0, visibleHeight: 400, from: -1, to: -1, atEnd: true, moved: false, focus: undefined}).current;

  const range = () => [
    Math.max(0, Math.floor(view.top / height) - 6),
    Math.min(count, Math.ceil((view.top + view.visibleHeight) / height) + 6),
  ];
  const measure = () => {
    if (!box.current) return; // a scroll event that arrives after the list was removed
    const visibleHeight = box.current.clientHeight, resized = visibleHeight !== view.visibleHeight;
    view.top = box.current.scrollTop;
    view.visibleHeight = visibleHeight;
    if (!resized) view.atEnd = view.top + visibleHeight >= (count - 1) * height; // a resize keeps the position
    const [from, to] = range();
    if (resized || from !== view.from || to !== view.to) redraw();
  };
  const scrollTo = top => {
    view.top = Math.max(0, Math.min(top, count * height - view.visibleHeight));
    view.moved = true;
  };
  if (follow && view.atEnd) scrollTo(count * height);
  if (focus !== view.focus) {
    view.focus = focus;
    const top = focus * height;
    if (focus >= 0 && (top < view.top || top + height > view.top + view.visibleHeight)) scrollTo(top - view.visibleHeight / 2);
  }
  [view.from, view.to] = range();
  useLayoutEffect(() => {
    if (!view.moved) return;
    view.moved = false;
    box.current.scrollTop = view.top;
  });
  useLayoutEffect(() => {
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [count, height]);

  const rows = [];
  for (let index = view.from; index < view.to; index++) rows.push(render(index));
  return html`<div class="scroll" ref=${box} onScroll=${measure} tabindex="0" role=${role} aria-label=${label} data-testid=${testid} onKeyDown=${onKeyDown}>
    ${header}
    <div class="tall" style=${{height: count * height + 'px'}}>
      <div style=${{transform: `translateY(${view.from * height}px)`}}>${rows}</div>
    </div>
  </div>`;
}

// A component that is redrawn only when one of its properties changes.
export class PureComponent extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some(key => !Object.is(next[key], this.props[key]));
  }
}

const ROW = 25;

// A table of which only the visible part is drawn. A column is {key, title, width, end, cell, slim,
// wide}: `end` aligns it to the right. On a very narrow screen its width is `slim`, and `wide`
// columns are omitted.
export function Table({columns: every, rows, label, rowProps, testid}) {
  const {slim} = useKeys('slim');
  const columns = slim ? every.filter(one => !one.wide).map(one => ({...one, width: one.slim || one.width})) : every;
  const template = {gridTemplateColumns: columns.map(one => one.width || 'minmax(80px, 1fr)').join(' ')};
  const head = html`<div class="tr th" role="row" style=${template}>
    ${columns.map(one => html`<span role="columnheader" class=${one.end && 'end'}>${one.title || html`<span class="visually-hidden">${one.key}</span>`}</span>`)}</div>`;
  const cells = row => columns.map(one => {
    const shown = one.cell ? one.cell(row) : row[one.key];
    return html`<span role="cell" class=${cx(one.end && 'end num', one.class)} title=${one.cell ? undefined : String(shown ?? '')}>
      ${shown === null || shown === undefined ? '' : shown}</span>`;
  });
  return html`<div class="table" role="table" aria-label=${label} aria-rowcount=${rows.length + 1} data-testid=${testid}>
    <${VirtualList} count=${rows.length} height=${ROW} label=${label} header=${head}
      render=${index => html`<div class="tr" role="row" key=${index} style=${template}
        ...${rowProps ? rowProps(rows[index]) : {}}>${cells(rows[index])}</div>`} />
  </div>`;
}

export const Tag = ({children, tone}) => html`<span class=${cx('tag', tone)}>${children}</span>`;

export const toneOf = word => {
  const text = String(word).toUpperCase();
  if (/OPEN|PASSED|FILLED|APPROVED|COMPLETED|LIVE|CLOSED_BREAKER/.test(text) && !/PRE|PARTIAL/.test(text)) return 'good';
  if (/HALT|SUSPEND|FAILED|REJECT|REFUSED|TRIPPED/.test(text)) return 'bad';
  if (/PENDING|PRE|PARTIAL|AUCTION|WAIT|REVIEW/.test(text)) return 'wait';
  return '';
};

export const State = ({of}) => html`<${Tag} tone=${toneOf(of)}>${String(of).toLowerCase().replaceAll('_', ' ')}<//>`;

// A list of tabs, with arrow keys, Home and End. A tab is [id, title, count].
export function Tabs({tabs, chosen, onChoose, label}) {
  const move = event => {
    const place = tabs.findIndex(([id]) => id === chosen);
    const to = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const [id] = tabs[(to + tabs.length) % tabs.length];
    onChoose(id);
    requestAnimationFrame(() => document.getElementById('tab-' + id)?.focus());
  };
  useEffect(() => { document.getElementById('tab-' + chosen)?.scrollIntoView({block: 'nearest', inline: 'nearest'}); }, [chosen]);
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(([id, title, count]) => html`<button role="tab" id=${'tab-' + id} data-testid=${'tab-' + id} key=${id}
      aria-selected=${id === chosen} aria-controls="panel" tabindex=${id === chosen ? 0 : -1}
      onClick=${() => onChoose(id)}>${title}${count ? html`<span class="count num">${count}</span>` : ''}</button>`)}
  </div>`;
}

// The dialog that confirms an action that cannot be undone. Escape cancels.
export function ConfirmDialog() {
  const {confirmation} = useKeys('confirmation');
  const yes = useRef(null), dialog = useRef(null);
  const end = answer => {
    patch({confirmation: null});
    confirmation.done(answer);
  };
  useLayoutEffect(() => {
    if (!confirmation) return undefined;
    const before = document.activeElement;
    const escape = event => event.key === 'Escape' && end(false); // wherever the focus is
    document.addEventListener('keydown', escape, true);
    yes.current?.focus();
    return () => {
      document.removeEventListener('keydown', escape, true);
      before?.focus?.();
    };
  }, [confirmation]);
  if (!confirmation) return null;
  const keys = event => {
    if (event.key === 'Tab') {
      const buttons = [...dialog.current.querySelectorAll('button')];
      const step = event.shiftKey ? -1 : 1;
      event.preventDefault();
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    }
  };
  return html`<div class="veil" onClick=${event => event.target === event.currentTarget && end(false)}>
    <div class="question" role="alertdialog" aria-modal="true" aria-labelledby="question" aria-describedby="consequences"
        ref=${dialog} onKeyDown=${keys}>
      <h2 id="question">${confirmation.question}</h2>
      <p id="consequences">${confirmation.consequences}</p>
      <div class="buttons">
        <button data-testid="confirm-no" onClick=${() => end(false)}>Cancel</button>
        <button class="danger" data-testid="confirm-yes" ref=${yes} onClick=${() => end(true)}>${confirmation.yes}</button>
      </div>
    </div>
  </div>`;
}

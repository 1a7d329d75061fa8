// One instrument: its state, its order book, its last trades and its price.

import {query, read} from '../control.js';
import {decimals, grouped, padded, shortTime} from '../format.js';
import {patch, state, useKeys} from '../store.js';
import {html, useEffect, useRef, useState} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, Empty, State, PureComponent, When} from '../widgets.js';
import {Chart} from './chart.js';

const TRADES = 60, SUGGESTED = 30;

const ROWS_SEARCHED = 200; // rows that firstSymbol searches

// Returns the symbol to show first: that of the last request about an instrument, else of the last
// trade, else of the last order, else of any instrument.
async function firstSymbol() {
  const after = Math.max(0, state.last - ROWS_SEARCHED);
  const {rows} = await read('/history' + query({after, limit: ROWS_SEARCHED, kind: 'request'}));
  for (const {subject} of rows.reverse()) {
    if (!/^[\w.~:@+=-]+$/.test(subject)) continue;
    const {instruments} = await read('/instruments' + query({text: subject, limit: SUGGESTED}));
    if (instruments.some(one => one.symbol === subject)) return subject;
    break;
  }
  for (const [path, of] of [['/state/trades?last=1', 'trades'], ['/state/orders?last=1', 'orders'], ['/instruments?limit=1', 'instruments']]) {
    const [row] = (await read(path))[of];
    if (row) return row.symbol;
  }
  return '';
}

// A text field that suggests the symbols that contain all words typed.
export function SymbolPicker() {
  const {symbol} = useKeys('symbol');
  const [text, setText] = useState(symbol);
  const [found, setFound] = useState(null);
  const [place, setPlace] = useState(-1);
  const box = useRef(null), requests = useRef(0);
  const typing = useRef(false);
  useEffect(() => { if (!typing.current) setText(symbol); }, [symbol]);
  const {connection} = useKeys('connection');
  useEffect(() => {
    if (!symbol && connection === 'live') firstSymbol().then(found => found && !state.symbol && patch({symbol: found}), () => 0);
  }, [connection]);

  async function suggest(words) {
    const attempt = ++requests.current;
    try {
      const answer = await read('/instruments' + query({text: words, limit: SUGGESTED}));
      if (attempt !== requests.current) return;
      setFound(answer);
      setPlace(-1);
      if (answer.instruments.some(one => one.symbol === words)) patch({symbol: words});
    } catch {
      // the page shows that the connection is lost
    }
  }
  const pick = chosen => {
    ++requests.current;
    typing.current = false;
    patch({symbol: chosen});
    setText(chosen);
    setFound(null);
  };
  const rows = found ? found.instruments : [];
  const keys = event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!found) suggest(text === symbol ? '' : text.trim());
      else setPlace(Math.max(-1, Math.min(rows.length - 1, place + (event.key === 'ArrowDown' ? 1 : -1))));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const exact = event.target.value.trim();
      pick(place >= 0 ? rows[place].symbol : rows.length && !rows.some(one => one.symbol === exact) && exact !== symbol ? rows[0].symbol : exact);
    } else if (event.key === 'Escape') {
      typing.current = false;
      setFound(null);
      setText(symbol);
    }
  };
  return html`<div class="picker" ref=${box}>
    <input data-testid="symbol-picker" role="combobox" aria-label="Instrument" aria-expanded=${!!found} spellcheck="false"
      aria-controls="symbols" aria-autocomplete="list" aria-activedescendant=${place >= 0 ? 'symbol-' + place : undefined}
      autocomplete="off" value=${text} placeholder="symbol, or words of it"
      onFocus=${event => { typing.current = true; event.target.select(); }}
      onInput=${event => { typing.current = true; setText(event.target.value); suggest(event.target.value.trim()); }}
      onKeyDown=${keys} onBlur=${() => setTimeout(() => { setFound(null); typing.current = false; setText(state.symbol); }, 150)} />
    ${found && html`<ul class="suggestions" role="listbox" id="symbols">
      ${rows.map((one, index) => html`<li role="option" id=${'symbol-' + index} key=${one.symbol} aria-selected=${index === place}
        onMouseDown=${event => { event.preventDefault(); pick(one.symbol); }}><span>${one.symbol}</span><${State} of=${one.state} /></li>`)}
      ${found.found > rows.length && html`<li class="faint">${grouped(found.found - rows.length)} more: write more words</li>`}
      ${!rows.length && html`<li class="faint">no symbol has these words</li>`}</ul>`}
  </div>`;
}

class Level extends PureComponent {
  render({side, px, qty, orders, share, places}) {
    return html`<div class=${'level ' + side} role="row" data-testid="book-level" data-side=${side} data-px=${px} data-qty=${qty}>
      <span class="bar" style=${{width: share + '%'}} aria-hidden="true"></span>
      <span class="num px" role="cell">${padded(px, places)}</span>
      <span class="num qty" role="cell">${grouped(qty)}</span>
      <span class="num faint" role="cell">${orders}</span></div>`;
  }
}

const Levels = ({side, levels, largestQty, places}) => levels.map(level => html`<${Level} key=${side + level.px} ...${level}
  side=${side} places=${places} share=${(100 * Number(level.qty)) / largestQty} />`);

function Ladder({book}) {
  const {bids = [], offers = []} = book || {};
  const largestQty = Math.max(1e-9, ...[...bids, ...offers].map(one => Number(one.qty)));
  const places = Math.max(0, ...[...bids, ...offers].map(one => decimals(one.px)));
  if (!bids.length && !offers.length) return html`<${Empty}>The book is empty.<//>`;
  const spread = bids.length && offers.length ? (Number(offers[0].px) - Number(bids[0].px)).toFixed(4).replace(/0+$/, '').replace(/\.$/, '') : '–';
  return html`<div role="table" aria-label="Order book">
    <div class="level th" role="row"><span role="columnheader">price</span><span role="columnheader">contracts</span><span role="columnheader">orders</span></div>
    <${Levels} side="offer" levels=${[...offers].reverse()} largestQty=${largestQty} places=${places} />
    <div class="level spread" role="row"><span role="cell">spread</span><span class="num" role="cell">${spread}</span></div>
    <${Levels} side="bid" levels=${bids} largestQty=${largestQty} places=${places} />
  </div>`;
}

function Book({symbol}) {
  const view = useView('books', {symbol, last: TRADES});
  const book = view.rows && view.rows.find(one => one.symbol === symbol);
  return html`<div class="book" data-testid="book" data-symbol=${symbol} data-seq=${Number.isFinite(view.seq) ? view.seq : ''}>
    ${view.problem ? html`<${Empty}>${view.problem}<//>` : view.rows === null ? html`<${Empty}>…<//>` : html`<${Ladder} book=${book} />`}
  </div>`;
}

class Trade extends PureComponent {
  render({id, taker, maker, state: to, at, side, price, qty}) {
    return html`<div class="level trade" role="row" data-testid="trade" data-id=${id}
        title=${`${id} · taker ${taker} · maker ${maker} · ${to}`}>
      <span class="num faint" role="cell">${shortTime(at)}</span>
      <span class=${'num ' + (side === 'BUY' ? 'bid' : 'offer')} role="cell">${price}</span>
      <span class="num qty" role="cell">${grouped(qty)}</span></div>`;
  }
}

function Trades({view}) {
  const rows = view.rows ? [...view.rows].reverse() : [];
  const places = Math.max(0, ...rows.map(one => decimals(one.price)));
  return html`<div class="trades" data-testid="trades">
    <${ViewContent} view=${view} empty="No trades yet.">
      <div role="table" aria-label="Last trades">
        <div class="level th" role="row"><span role="columnheader">last trades</span><span role="columnheader">price</span><span role="columnheader">contracts</span></div>
        ${rows.map(one => html`<${Trade} key=${one.id} ...${one} price=${padded(one.price, places)} />`)}
      </div>
    <//>
  </div>`;
}

// The price and the trades without the book, for a narrow screen.
export function LastTrades() {
  const {symbol} = useKeys('symbol');
  const trades = useView(symbol ? 'trades' : '', {symbol, last: TRADES});
  return html`<section class="market pane" aria-label="Trades">
    <div class="pane-head"><${SymbolPicker} /></div>
    <div class="scroll" tabindex="0" aria-label="Price and trades">
      ${symbol && html`<${Chart} trades=${trades.rows || []} symbol=${symbol} /><${Trades} view=${trades} />`}
    </div>
  </section>`;
}

export function Market() {
  const {symbol, narrow} = useKeys('symbol', 'narrow');
  const terms = useView(symbol ? 'instruments' : '', {symbol, last: TRADES}); // same filters as the trades: one request
  const trades = useView(symbol ? 'trades' : '', {symbol, last: TRADES});
  const one = terms.rows && terms.rows[0];
  return html`<section class="market pane" aria-label="Market">
    <div class="pane-head"><${SymbolPicker} /></div>
    ${symbol
      ? html`<div class="terms">${one ? html`<${State} of=${one.state} />
            <span class="num">tick ${one.tick_size}</span>
            <span class="num faint">${one.price_limit.low} to ${one.price_limit.high}</span>
            <span class="faint">expires <${When} at=${one.expiration} /></span>` : terms.problem || '…'}</div>
          <div class="scroll" tabindex="0" aria-label="Book, price and trades">
            <${Book} symbol=${symbol} />
            <${Chart} trades=${trades.rows || []} symbol=${symbol} height=${narrow ? 120 : 84} />
            <${Trades} view=${trades} />
          </div>`
      : html`<${Empty}>Choose an instrument.<//>`}
  </section>`;
}


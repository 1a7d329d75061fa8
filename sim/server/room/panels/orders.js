// Orders of one instrument or of all, newest first.

import {decimals, grouped, lastPart, padded, words} from '../format.js';
import {patch, useKeys} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, State, Table, When} from '../widgets.js';

const ROWS_MAX = 2000;
const OPEN = /^(NEW|PARTIALLY_FILLED|PENDING)/;

const COLUMNS = [
  {key: 'created', title: 'time', width: '112px', slim: '56px', class: 'brief', cell: row => html`<${When} at=${row.created} />`},
  {key: 'id', title: 'order', width: '118px', wide: true, class: 'num'},
  {key: 'account', title: 'account', width: '96px', wide: true, cell: row => html`<span title=${row.account}>${lastPart(row.account)}</span>`},
  {key: 'symbol', title: 'instrument', width: 'minmax(140px, 1fr)', slim: 'minmax(50px, 1fr)',
    cell: row => html`<button class="link" onClick=${() => patch({symbol: row.symbol})} title=${row.symbol}>${row.symbol}</button>`},
  {key: 'side', title: 'side', width: '44px', slim: '28px', cell: row => html`<span class=${row.side === 'BUY' ? 'bid' : 'offer'}>${row.side.toLowerCase()}</span>`},
  {key: 'price', title: 'price', width: '60px', slim: '40px', end: true},
  {key: 'qty', title: 'contracts', width: '76px', slim: '54px', end: true, cell: row => grouped(row.qty)},
  {key: 'filled', title: 'filled', width: '66px', wide: true, end: true, cell: row => grouped(row.filled)},
  {key: 'type', title: 'type', width: '130px', wide: true, cell: row => `${words(row.type)} ${shortTif(row.tif)}`},
  {key: 'state', title: 'state', width: '120px', slim: '88px', cell: row => html`<${State} of=${row.state} />`},
];

const shortTif = tif => tif.split('_').map(word => word[0]).join('');

export function Orders() {
  const {symbol} = useKeys('symbol');
  const [all, setAll] = useState(true);
  const [open, setOpen] = useState(false);
  const view = useView('orders', all ? {last: ROWS_MAX} : {symbol, last: ROWS_MAX});
  const matching = (view.rows || []).filter(row => !open || OPEN.test(row.state));
  const places = Math.max(0, ...matching.map(row => decimals(row.price)));
  const rows = matching.map(row => ({...row, price: padded(row.price, places)})).reverse();
  return html`<div class="fill column" data-testid="orders">
    <div class="bar">
      <label><input type="checkbox" checked=${!all} onChange=${() => setAll(!all)} /> only ${symbol || 'the chosen instrument'}</label>
      <label><input type="checkbox" checked=${open} onChange=${() => setOpen(!open)} /> open ones</label>
      <span class="faint num">${view.rows ? `${grouped(rows.length)} ${rows.length >= ROWS_MAX ? 'newest' : ''}` : ''}</span>
    </div>
    <${ViewContent} view=${view.rows && !rows.length ? {rows: [], problem: ''} : view} empty="No orders.">
      <${Table} label="Orders" columns=${COLUMNS} rows=${rows} rowProps=${row => ({'data-testid': 'order', 'data-id': row.id, 'data-state': row.state})} />
    <//>
  </div>`;
}

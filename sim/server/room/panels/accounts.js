// Money and positions of all accounts; ledger and orders of the chosen one.

import {grouped, words} from '../format.js';
import {patch} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, Empty, State, Table, When, cx} from '../widgets.js';

const ROWS_MAX = 500;

const LEDGER = [
  {key: 'at', title: 'time', width: '112px', cell: row => html`<${When} at=${row.at} />`},
  {key: 'type', title: 'entry', width: '150px', cell: row => words(row.type)},
  {key: 'amount', title: 'amount', width: '100px', end: true, cell: row => html`<span class=${row.amount.startsWith('-') ? 'bad' : ''}>${grouped(row.amount)}</span>`},
  {key: 'balance', title: 'balance', width: '110px', end: true, cell: row => grouped(row.balance)},
  {key: 'description', title: 'what', width: 'minmax(160px, 1fr)'},
];

function AccountDetail({account, row}) {
  const ledger = useView('ledger', {account, last: ROWS_MAX});
  const orders = useView('orders', {account, last: ROWS_MAX});
  const newest = ledger.rows ? [...ledger.rows].reverse() : [];
  return html`<div class="one column">
    <h3>${account}</h3>
    <p class="sums">
      <span>balance <b class="num" data-testid="balance">${grouped(row.balance)}</b></span>
      <span>buying power <b class="num">${grouped(row.buying_power)}</b></span>
      <span>reserved <b class="num">${grouped(row.open_orders)}</b></span></p>
    ${row.positions.length > 0 && html`<ul class="positions">${row.positions.map(one => html`<li key=${one.symbol}>
      <button class="link" onClick=${() => patch({symbol: one.symbol})}>${one.symbol}</button>
      <b class=${cx('num', one.net.startsWith('-') ? 'offer' : 'bid')}>${grouped(one.net)}</b></li>`)}</ul>`}
    ${orders.rows && orders.rows.length > 0 && html`<details><summary>${orders.rows.length} orders</summary><ul class="positions">
      ${[...orders.rows].reverse().slice(0, 50).map(one => html`<li key=${one.id}><span class="num faint">${one.id}</span>
        <span class=${one.side === 'BUY' ? 'bid' : 'offer'}>${one.side.toLowerCase()}</span>
        <span class="num">${one.qty} at ${one.price}</span> <span>${one.symbol}</span> <${State} of=${one.state} /></li>`)}</ul></details>`}
    <${ViewContent} view=${ledger} empty="No money has moved."><${Table} testid="ledger" label="Ledger" columns=${LEDGER} rows=${newest} /><//>
  </div>`;
}

export function Account() {
  const view = useView('accounts');
  const [chosen, setChosen] = useState('');
  const rows = view.rows || [];
  const row = rows.find(one => one.account === chosen);
  const columns = [
    {key: 'account', title: 'account', width: 'minmax(150px, 1fr)',
      cell: one => html`<button class="link" aria-pressed=${one.account === chosen} onClick=${() => setChosen(one.account)} title=${one.account}>
        ${one.account.replace(/^firms\//, '').replace('/accounts/', ' · ')}</button>`},
    {key: 'balance', title: 'balance', width: '120px', end: true, cell: one => grouped(one.balance)},
    {key: 'positions', title: 'positions', width: '72px', end: true, cell: one => one.positions.length || ''},
  ];
  return html`<div class="fill split" data-testid="accounts">
    <${ViewContent} view=${view} empty="No accounts.">
      <${Table} label="Accounts" columns=${columns} rows=${rows}
        rowProps=${one => ({'data-testid': 'account', 'data-account': one.account, 'data-balance': one.balance, class: cx('tr', one.account === chosen && 'chosen')})} />
      ${row ? html`<${AccountDetail} key=${chosen} account=${chosen} row=${row} />`
        : html`<${Empty}>Choose an account: positions, orders and ledger.<//>`}
    <//>
  </div>`;
}


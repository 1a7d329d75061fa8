// The results of an account: profit and loss, fills with their fees, and its own quotes over time.

import {grouped, ms} from '../format.js';
import {patch, useKeys} from '../store.js';
import {html, useEffect} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, Empty, Table, When} from '../widgets.js';
import {Plot} from './chart.js';

const ROWS_MAX = 5000;
const TIME = {key: 'at', title: 'time', width: '112px', cell: row => html`<${When} at=${row.at} />`};
const SYMBOL = {key: 'symbol', title: 'instrument', width: 'minmax(86px, 1fr)',
  cell: row => html`<button class="link" onClick=${() => patch({symbol: row.symbol})} title=${row.symbol}>${row.symbol}</button>`};
const money = (key, title = key) => ({key, title, width: '68px', end: true,
  cell: row => html`<span class=${row[key].startsWith('-') ? 'bad' : ''}>${grouped(row[key])}</span>`});
const number = (key, title = key, width = '52px') => ({key, title, width, end: true, cell: row => grouped(row[key])});

const POSITIONS = [SYMBOL, number('net'), number('average'), number('mark'), money('realised'), money('unrealised'), number('fees', 'fees', '68px'), money('total')];
const FILLS = [TIME, SYMBOL, {key: 'side', title: 'side', width: '44px', cell: row => html`<span class=${row.side === 'BUY' ? 'bid' : 'offer'}>${row.side.toLowerCase()}</span>`},
  number('price'), number('qty', 'contracts', '58px'), {key: 'liquidity', title: 'as', width: '40px'}, number('fee', 'fee', '68px')];

// Returns the last row of each instrument, and the total of all instruments after each row.
function totalsOverTime(rows) {
  const last = new Map(), at = [], totals = [];
  for (const row of rows) {
    last.set(row.symbol, row);
    const total = [...last.values()].reduce((sum, one) => sum + Number(one.total), 0);
    if (at.at(-1) === ms(row.at)) totals[totals.length - 1] = total;
    else {
      at.push(ms(row.at));
      totals.push(total);
    }
  }
  return {positions: [...last.values()], at, totals};
}

// Sums a column in millionths, which are exact as integers, and rounds the sum to cents.
const total = (rows, key) => (rows.reduce((sum, row) => sum + Math.round(Number(row[key]) * 1e6), 0) / 1e6).toFixed(2);

function QuotesPlot({account, symbol}) {
  const view = useView('quotes', {account, last: ROWS_MAX});
  const rows = (view.rows || []).filter(row => row.symbol === symbol);
  const of = key => rows.map(row => (row[key] ? Number(row[key]) : null));
  return html`<h3>Its quotes in ${symbol || '…'} ${rows.length ? html`<span class="faint num">spread ${rows.at(-1).spread || '–'}</span>` : ''}</h3>
    <${Plot} stepped testid="quotes-plot" label=${`Own quotes in ${symbol}: ${rows.length} changes`} at=${rows.map(row => ms(row.at))}
      series=${[{colour: '--bid', values: of('bid')}, {colour: '--offer', values: of('offer')}]} empty="It has not quoted this instrument twice." />`;
}

function AccountFigures({account, symbol}) {
  const performance = useView('performance', {account, last: ROWS_MAX});
  const fills = useView('fills', {account, last: ROWS_MAX});
  const {positions, at, totals} = totalsOverTime(performance.rows || []);
  return html`<div class="one column" tabindex="0" role="group" aria-label="Sums and plots" data-testid="figures-of" data-account=${account} data-total=${total(positions, 'total')} data-fills=${(fills.rows || []).length}>
      <p class="sums">${['realised', 'unrealised', 'fees', 'total'].map(key => html`<span>${key} <b class="num" data-testid=${'figure-' + key}>${grouped(total(positions, key))}</b></span>`)}</p>
      <${Plot} testid="total-plot" label=${`Profit and loss of ${account}`} at=${at} series=${[{colour: '--accent', values: totals}]}
        empty="Profit and loss over time begins with the second trade." />
      <${QuotesPlot} account=${account} symbol=${symbol} /></div>
    <div class="one column" tabindex="0" role="group" aria-label="Positions and fills"><${ViewContent} view=${performance} empty="This account has not traded."><${Table} testid="positions" label="Positions" columns=${POSITIONS} rows=${positions} /><//>
      <${ViewContent} view=${fills} empty="No fills."><${Table} testid="fills" label="Fills" columns=${FILLS} rows=${[...(fills.rows || [])].reverse()} rowProps=${row => ({'data-testid': 'fill', 'data-id': row.id})} /><//></div>`;
}

export function Figures() {
  const {symbol, figuresAccount} = useKeys('symbol', 'figuresAccount');
  const accounts = useView('accounts');
  const rows = (accounts.rows || []).filter(row => row.kind === 'trading');
  const chosen = figuresAccount || (rows.find(row => row.positions.length) || rows[0] || {}).account || '';
  useEffect(() => { if (!figuresAccount && chosen) patch({figuresAccount: chosen}); }, [chosen]);
  return html`<div class="fill column" data-testid="figures">
    <div class="bar"><label>Account <select data-testid="figures-account" value=${chosen} onChange=${event => patch({figuresAccount: event.target.value})}>
      ${rows.map(row => html`<option key=${row.account} value=${row.account} selected=${row.account === chosen}>${row.account}</option>`)}</select></label>
      <span class="faint">marked at the last trade; a negative fee is a rebate</span></div>
    ${chosen ? html`<div class="fill split flow"><${AccountFigures} key=${chosen} account=${chosen} symbol=${symbol} /></div>` : html`<${Empty}>No account trades.<//>`}
  </div>`;
}

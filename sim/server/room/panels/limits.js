// Rate limits in use, webhook circuit breakers, maintenance windows and the next timers.

import {tryCall} from '../control.js';
import {grouped, plural} from '../format.js';
import {confirm} from '../run.js';
import {useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, State, Table, Tag, When} from '../widgets.js';

const TIMERS_MAX = 200;

const USAGE = [
  {key: 'limit', title: 'limit', width: 'minmax(130px, 1fr)', slim: 'minmax(90px, 1fr)'},
  {key: 'subject', title: 'who', width: 'minmax(100px, 1fr)', slim: 'minmax(70px, 1fr)'},
  {key: 'used', title: 'used', width: '60px', slim: '44px', end: true, cell: row => grouped(row.used)},
  {key: 'allowed', title: 'of', width: '60px', slim: '54px', end: true, cell: row => grouped(row.allowed)},
  {key: 'would_refuse', title: 'over', width: '50px', slim: '36px', end: true, cell: row => (row.would_refuse ? html`<span class="bad">${row.would_refuse}</span>` : '')},
];
const TIMERS = [
  {key: 'at', title: 'due', width: '112px', cell: row => html`<${When} at=${row.at} />`},
  {key: 'timer', title: 'timer', width: '150px', slim: '120px'},
  {key: 'subject', title: 'of', width: 'minmax(90px, 1fr)', slim: 'minmax(70px, 1fr)'},
];

const instantOf = ns => (ns ? new Date(ns / 1e6).toISOString() : '');

export function Limits() {
  const {moment, finished} = useKeys('moment', 'finished');
  const limits = useView('limits'), breakers = useView('breakers');
  const maintenance = useView('maintenance'), timers = useView('timers');
  const cancel = async name => {
    if (await confirm(`Call the window ${name} off?`, 'Clients that heard of it see it disappear.', 'Call off'))
      await tryCall('DELETE', `/maintenance/${name}`);
  };
  return html`<div class="fill columns" data-testid="limits">
    <section class="column"><h3>Rate limits</h3>
      <${ViewContent} view=${limits} empty="No limit has been used."><${Table} label="Rate limits" columns=${USAGE} rows=${limits.rows || []} /><//></section>
    <section class="column"><h3>Webhook breakers</h3>
      <${ViewContent} view=${breakers} empty="No breaker has counted a failure.">
        <ul class="plain">${(breakers.rows || []).map(one => html`<li key=${one.firm} data-testid="breaker" data-state=${one.state}>${one.firm}${' '}
          <${Tag} tone=${one.state === 'closed' ? 'good' : 'bad'}>${one.state}<//>
          ${' '}<span class="faint">${plural(one.failures, 'failure')} in a row, ${one.parked.length} waiting</span>
          ${one.until > 0 && html` until <${When} at=${instantOf(one.until)} />`}</li>`)}</ul><//>
      <h3>Maintenance</h3>
      <${ViewContent} view=${maintenance} empty="None is announced.">
        <ul class="plain">${(maintenance.rows || []).map(one => html`<li key=${one.name} data-testid="window">
          ${one.open ? html`<${State} of="open now" />` : ''} ${one.name} <${When} at=${one.begins} /> to <${When} at=${one.ends} />
          ${moment === null && !finished && one.name.startsWith('window') && html`<button class="quiet" onClick=${() => cancel(one.name)}>Call off</button>`}</li>`)}</ul><//></section>
    <section class="column"><h3>Due next ${timers.rows && timers.rows.length > TIMERS_MAX ? html`<span class="faint num">first ${TIMERS_MAX} of ${grouped(timers.rows.length)}</span>` : ''}</h3>
      <${ViewContent} view=${timers} empty="Nothing is due."><${Table} label="Timers" columns=${TIMERS} rows=${(timers.rows || []).slice(0, TIMERS_MAX)} /><//></section>
  </div>`;
}

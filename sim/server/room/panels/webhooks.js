// Webhook delivery attempts, newest first, with a button that sends an event again.

import {tryCall} from '../control.js';
import {lastPart, plural} from '../format.js';
import {useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, State, Table, Tag, When} from '../widgets.js';

export function Webhooks() {
  const {moment, finished, slim} = useKeys('moment', 'finished', 'slim');
  const view = useView('deliveries');
  const breakers = useView('breakers');
  const resend = row => tryCall('POST', `/webhooks/${lastPart(row.firm)}/redeliver`, {event_id: row.event_id});
  const columns = [
    {key: 'at', title: 'time', width: '112px', slim: '56px', class: 'brief', cell: row => html`<${When} at=${row.at} />`},
    {key: 'type', title: 'event', width: '150px', slim: 'minmax(70px, 1fr)'},
    {key: 'event_id', title: 'id', width: '150px', wide: true, class: 'num'},
    {key: 'firm', title: 'firm', width: '80px', wide: true, cell: row => lastPart(row.firm)},
    {key: 'url', title: 'receiver', width: 'minmax(140px, .8fr)', wide: true},
    {key: 'attempt', title: slim ? 'try' : 'attempt', width: '60px', slim: '20px', end: true},
    {key: 'status', title: 'answer', width: '60px', slim: '42px', end: true, cell: row => row.status || ''},
    {key: 'outcome', title: 'outcome', width: 'minmax(200px, 1.2fr)', slim: '66px', cell: row => html`<${State} of=${row.outcome} /> ${slim ? '' : html`<span class="faint" title=${row.error}>${row.error}</span>`}`},
    {key: 'again', title: '', width: '70px', slim: '58px', cell: row => !finished && html`<button class="quiet" data-testid="webhook-resend" data-event=${row.event_id}
      disabled=${moment !== null} onClick=${() => resend(row)}>Resend</button>`},
  ];
  const open = (breakers.rows || []).filter(one => one.state !== 'closed');
  return html`<div class="fill column" data-testid="webhooks">
    ${open.length > 0 && html`<p class="bar bad" data-testid="breaker-open">${open.map(one => html`<span>
      The breaker of ${one.firm} is <${Tag} tone="bad">${one.state}<//> after ${plural(one.failures, 'failure')}; deliveries that wait: ${one.parked.length}. </span>`)}</p>`}
    <${ViewContent} view=${view} empty="No webhook has been sent. A firm registers its receiver with POST /v1/kyc/webhook.">
      <${Table} label="Webhook deliveries" columns=${columns} rows=${view.rows ? [...view.rows].reverse() : []}
        rowProps=${row => ({'data-testid': 'webhook', 'data-event': row.event_id, 'data-attempt': row.attempt, 'data-status': row.status})} />
    <//>
  </div>`;
}

// Identity verifications (KYC), with buttons that decide them.

import {tryCall} from '../control.js';
import {lastPart} from '../format.js';
import {useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useView} from '../views.js';
import {ViewContent, State, Table} from '../widgets.js';

export function Verifications() {
  const {moment, finished} = useKeys('moment', 'finished');
  const view = useView('verifications');
  const decide = (row, decision) => tryCall('POST', `/kyc/${encodeURIComponent(row.external_id)}/decision`, {decision});
  const upload = (row, result) => tryCall('POST', `/kyc/${encodeURIComponent(row.external_id)}/document`, {result});
  const columns = [
    {key: 'external_id', title: 'applicant', width: 'minmax(110px, 1fr)', slim: 'minmax(60px, 1fr)'},
    {key: 'status', title: 'status', width: '150px', slim: '70px', cell: row => html`<${State} of=${row.status} />`},
    {key: 'sub_status', title: 'detail', width: 'minmax(100px, 1fr)', wide: true},
    {key: 'decision', title: 'decision', width: '110px', wide: true, cell: row => row.decision && html`<${State} of=${row.decision} />`},
    {key: 'provisioned_account', title: 'account', width: 'minmax(110px, 1fr)', wide: true, cell: row => html`<span title=${row.provisioned_account}>${lastPart(row.provisioned_account)}</span>`},
    {key: 'do', title: '', width: '240px', slim: '204px', cell: row => moment === null && !finished && html`<span class="buttons">
      <button class="quiet" onClick=${() => decide(row, 'approve')}>Approve</button>
      <button class="quiet" onClick=${() => decide(row, 'reject')}>Reject</button>
      <button class="quiet" onClick=${() => upload(row, 'uploaded')}>Document</button></span>`},
  ];
  return html`<div class="fill" data-testid="verifications">
    <${ViewContent} view=${view} empty="Nobody is being verified.">
      <${Table} label="Verifications" columns=${columns} rows=${view.rows || []}
        rowProps=${row => ({'data-testid': 'verification', 'data-id': row.external_id, 'data-status': row.status})} />
    <//>
  </div>`;
}

// Open streams, the last frames of one, and a way to end it.

import {tryAct} from '../control.js';
import {grouped, lastPart} from '../format.js';
import {choose, confirm} from '../run.js';
import {isReport} from '../recorded.js';
import {useKeys} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {usePresent, useView} from '../views.js';
import {Answered, Empty, Table, When, cx} from '../widgets.js';
import {Json} from './record.js';

function Frames({id, moment}) {
  const view = usePresent(moment === null ? `/streams/${id}/frames` : `/history/${moment}/streams/${id}/frames`, 'frames');
  return html`<div class="one column"><h3>Last frames of stream ${id}</h3>
    <${Answered} view=${view} empty="No frame has been sent.">
      <div class="scroll" tabindex="0">${[...(view.rows || [])].reverse().map(one => html`<div class="frame" key=${one.seq}>
        <button class="link num" onClick=${() => choose(one.seq)}>#${one.seq}</button> <${When} at=${one.at} /><${Json} value=${one.body} /></div>`)}</div>
    <//></div>`;
}

export function Streams() {
  const {moment} = useKeys('moment');
  const view = useView('sessions');
  const [chosen, setChosen] = useState(null);
  const end = async row => {
    const sure = await confirm(`End stream ${row.id} of ${row.participant || row.firm}?`,
      'Its client sees UNAVAILABLE and has to subscribe again.', 'End it');
    if (sure) await tryAct('DELETE', `/streams/${row.id}`);
  };
  const columns = [
    {key: 'id', title: 'stream', width: '46px', end: true, cell: row => html`<button class="link num" onClick=${() => setChosen(row.id)}>${row.id}</button>`},
    {key: 'rpc', title: 'operation', width: 'minmax(130px, 1fr)', cell: row => html`<span title=${row.rpc}>${row.rpc.split('.').pop()}</span>`},
    {key: 'firm', title: 'firm', width: '70px', cell: row => lastPart(row.firm)},
    {key: 'participant', title: 'participant', width: '90px', cell: row => html`<span title=${row.participant}>${lastPart(row.participant)}</span>`},
    {key: 'since', title: 'since', width: '112px', cell: row => html`<${When} at=${row.since} />`},
    {key: 'sent', title: 'frames', width: '50px', end: true, cell: row => grouped(row.sent)},
    {key: 'end', title: '', width: '44px', cell: row => moment === null && !isReport && html`<button class="quiet" onClick=${() => end(row)}>End</button>`},
  ];
  return html`<div class="fill split" data-testid="streams">
    <${Answered} view=${view} empty="No stream is open.">
      <${Table} label="Streams" columns=${columns} rows=${view.rows || []}
        rowProps=${row => ({'data-testid': 'stream', 'data-id': row.id, class: cx('tr', row.id === chosen && 'chosen')})} />
      ${chosen !== null && (moment === null || isReport) ? html`<${Frames} key=${chosen} id=${chosen} moment=${moment} />`
        : html`<${Empty}>${moment === null || isReport ? 'Choose a stream to see its last frames.' : 'Frames of the past stand in the detail of each row.'}<//>`}
    <//>
  </div>`;
}

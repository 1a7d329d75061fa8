// Open streams, the last frames of one, and a way to end it.

import {query, tryAct} from '../control.js';
import {grouped, lastPart} from '../format.js';
import {branchQuery, choose, confirm} from '../run.js';
import {isReport} from '../recorded.js';
import {patch, useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useOnce, usePresent, useView} from '../views.js';
import {Answered, Empty, Table, When, cx} from '../widgets.js';
import {Json} from './record.js';

function Frames({id, moment}) {
  const {last, version} = useKeys('last', 'version');
  const now = usePresent(moment === null ? `/streams/${id}/frames` : null, 'frames');
  const ended = moment === null && now.problem !== ''; // its frames are those of the past
  const at = moment ?? last;
  const then = useOnce(moment !== null || ended ? `/history/${at}/streams/${id}/frames${query(branchQuery())}` : null, undefined);
  const past = moment !== null || ended;
  const view = past ? {...then, rows: then.rows && then.rows.frames} : now;
  const state = !past || !then.rows ? '' : then.rows.open === false ? ', which has ended' : '';
  return html`<div class="one column" data-testid="frames" data-version=${version}><h3>Last frames of stream ${id}${state}</h3>
    <${Answered} view=${view} empty=${past && then.rows && then.rows.after ? `No frame since input ${then.rows.after}.` : 'No frame has been sent.'}>
      <div class="scroll" tabindex="0">${[...(view.rows || [])].reverse().map(one => html`<div class="frame" key=${one.seq}>
        <button class="link num" onClick=${() => choose(one.seq)}>#${one.seq}</button> <${When} at=${one.at} /><${Json} value=${one.body} /></div>`)}</div>
    <//></div>`;
}

export function Streams() {
  const {moment} = useKeys('moment');
  const view = useView('sessions');
  const {stream: chosen} = useKeys('stream');
  const setChosen = stream => patch({stream});
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
    <//>
    ${chosen !== null ? html`<${Frames} key=${chosen} id=${chosen} moment=${moment} />`
      : view.rows && view.rows.length > 0 && html`<${Empty}>Choose a stream to see its last frames.<//>`}
  </div>`;
}

// Open streams with a button to end them, streams that have ended, and the last frames of one.

import {query, tryCall} from '../control.js';
import {grouped, headline, lastPart} from '../format.js';
import {branchQuery, choose, confirm, rows} from '../run.js';
import {patch, useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {useOnce, usePresent, useView} from '../views.js';
import {ViewContent, Empty, Table, When, cx} from '../widgets.js';
import {Json} from './record.js';

const ENDED_MAX = 20; // maximum number of ended streams shown

// Returns the streams that have ended by the moment shown, newest first, as {id, from, to}: the
// inputs in which the client opened and closed the stream. `to` is null if the exchange ended it.
// They are found in the search texts of the rows.
function endedStreams(moment, open) {
  const found = [], closedByClient = new Map();
  for (let seq = Math.min(moment ?? rows.last, rows.indexed); seq > 0 && found.length < ENDED_MAX; seq--) {
    const text = rows.searchTexts[seq];
    if (!text || !text.startsWith('stream ')) continue;
    const id = Number((/ stream\/(\d+)/.exec(text) || [])[1]);
    if (text.startsWith('stream hangs up')) closedByClient.set(id, seq);
    else if (id && !open.has(id)) found.push({id, from: seq, to: closedByClient.get(id) ?? null});
  }
  return found;
}

function Ended({streams, chosen, onChoose}) {
  if (!streams.length) return null;
  return html`<section data-testid="ended-streams"><h3>Ended</h3><ul class="plain">${streams.map(one => {
    const row = rows.at(one.from);
    return html`<li key=${one.id} class=${cx('ended', one.id === chosen && 'chosen')} data-testid="ended-stream" data-id=${one.id}>
      <button class="link" aria-pressed=${one.id === chosen} onClick=${() => onChoose(one.id)}><span class="num">${one.id}</span> ${row ? headline(row).replace(/^opens /, '') : '…'}</button>
      <span class="faint">${row ? lastPart(row.caller || row.who) : ''}</span>
      <span class="faint">opened by <button class="link num" onClick=${() => choose(one.from)}>#${one.from}</button>${one.to
        ? html`, hung up by <button class="link num" onClick=${() => choose(one.to)}>#${one.to}</button>` : ', ended by the exchange'}</span></li>`;
  })}</ul></section>`;
}

function Frames({id, moment, to}) {
  const {last, version} = useKeys('last', 'version');
  const presentFrames = usePresent(moment === null && !to ? `/streams/${id}/frames` : null, 'frames');
  const ended = moment === null && (Boolean(to) || presentFrames.problem !== ''); // then the history has its frames
  const at = Math.min(moment ?? last, to ?? Infinity);
  const pastFrames = useOnce(moment !== null || ended ? `/history/${at}/streams/${id}/frames${query(branchQuery())}` : null, undefined);
  const past = moment !== null || ended;
  const view = past ? {...pastFrames, rows: pastFrames.rows && pastFrames.rows.frames} : presentFrames;
  const state = !past || !pastFrames.rows ? '' : pastFrames.rows.open === false ? ', which has ended' : '';
  return html`<div class="one column" data-testid="frames" data-version=${version}><h3>Last frames of stream ${id}${state}</h3>
    <${ViewContent} view=${view} empty=${past && pastFrames.rows && pastFrames.rows.after ? `No frame since input ${pastFrames.rows.after}.` : 'No frame has been sent.'}>
      <div class="scroll" tabindex="0">${[...(view.rows || [])].reverse().map(one => html`<div class="frame" key=${one.seq}>
        <button class="link num" onClick=${() => choose(one.seq)}>#${one.seq}</button> <${When} at=${one.at} /><${Json} value=${one.body} /></div>`)}</div>
    <//></div>`;
}

export function Streams() {
  const {moment, finished} = useKeys('moment', 'finished', 'rowsVersion');
  const view = useView('sessions');
  const {stream: chosen} = useKeys('stream');
  const setChosen = stream => patch({stream});
  const end = async row => {
    const sure = await confirm(`End stream ${row.id} of ${row.participant || row.firm}?`,
      'Its client sees UNAVAILABLE and has to subscribe again.', 'End it');
    if (sure) await tryCall('DELETE', `/streams/${row.id}`);
  };
  const columns = [
    {key: 'id', title: 'stream', width: '46px', end: true, cell: row => html`<button class="link num" onClick=${() => setChosen(row.id)}>${row.id}</button>`},
    {key: 'rpc', title: 'operation', width: 'minmax(130px, 1fr)', slim: 'minmax(80px, 1fr)', cell: row => html`<span title=${row.rpc}>${row.rpc.split('.').pop()}</span>`},
    {key: 'firm', title: 'firm', width: '70px', wide: true, cell: row => lastPart(row.firm)},
    {key: 'participant', title: 'participant', width: '90px', slim: '70px', cell: row => html`<span title=${row.participant}>${lastPart(row.participant)}</span>`},
    {key: 'since', title: 'since', width: '112px', wide: true, cell: row => html`<${When} at=${row.since} />`},
    {key: 'sent', title: 'frames', width: '50px', end: true, cell: row => grouped(row.sent)},
    {key: 'end', title: '', width: '44px', cell: row => moment === null && !finished && html`<button class="quiet" onClick=${() => end(row)}>End</button>`},
  ];
  const open = new Set((view.rows || []).map(row => row.id));
  const ended = view.rows ? endedStreams(moment, open) : [];
  const chosenEnded = ended.find(one => one.id === chosen);
  return html`<div class="fill split" data-testid="streams">
    <div class="column scroll" tabindex="0" aria-label="Streams"><${ViewContent} view=${view} empty="No stream is open.">
      <${Table} label="Streams" columns=${columns} rows=${view.rows || []}
        rowProps=${row => ({'data-testid': 'stream', 'data-id': row.id, class: cx('tr', row.id === chosen && 'chosen')})} />
    <//><${Ended} streams=${ended} chosen=${chosen} onChoose=${setChosen} /></div>
    ${chosen !== null ? html`<${Frames} key=${chosen} id=${chosen} moment=${moment} to=${chosenEnded ? chosenEnded.to : null} />`
      : html`<${Empty}>${open.size || ended.length ? 'Choose a stream to see its last frames.' : 'Frames of a stream are shown here.'}<//>`}
  </div>`;
}

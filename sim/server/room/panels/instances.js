// The instances of this process. Each has its own exchange, clock, ports and control room.

import {roomUrl, tryCall} from '../control.js';
import {grouped} from '../format.js';
import {confirm} from '../run.js';
import {html, useState} from '../vendor/preact-htm.js';
import {usePresent} from '../views.js';
import {ViewContent, Table, Tag, When} from '../widgets.js';

export function Instances() {
  const view = usePresent('/worlds', 'worlds');
  const [scenario, setScenario] = useState('');
  const here = view.rows && view.rows.find(one => one.control === location.origin);
  const start = event => {
    event.preventDefault();
    tryCall('POST', '/worlds', scenario.trim() ? {scenario: scenario.trim()} : {});
  };
  const end = async name => {
    if (await confirm(`End the instance ${name}?`, 'Its listeners close and its clients lose it.', 'End it')) await tryCall('DELETE', `/worlds/${name}`);
  };
  const columns = [
    {key: 'world', title: 'instance', width: 'minmax(110px, 1fr)', slim: 'minmax(60px, 1fr)', cell: one => html`<b>${one.world}</b> ${one === here && html`<${Tag} tone="good">this one<//>`}`},
    {key: 'scenario', title: 'scenario', width: 'minmax(110px, 1fr)', wide: true},
    {key: 'seed', title: 'seed', width: '60px', wide: true, end: true},
    {key: 'now', title: 'virtual now', width: '120px', slim: '70px', class: 'brief', cell: one => html`<${When} at=${one.now} />`},
    {key: 'seq', title: 'inputs', width: '70px', slim: '44px', end: true, cell: one => grouped(one.seq)},
    {key: 'room', title: '', width: '140px', slim: '112px', cell: one => one !== here && html`<a href=${roomUrl(one.control)} target="_blank" rel="noreferrer">its room ↗</a>
      ${one.world !== 'main' && html`<button class="quiet" onClick=${() => end(one.world)}>End</button>`}`},
  ];
  return html`<div class="fill column" data-testid="instances">
    <form class="bar" onSubmit=${start}>
      <label>Scenario <input value=${scenario} onInput=${event => setScenario(event.target.value)} placeholder="as this one began" spellcheck="false" /></label>
      <button>Start an instance</button></form>
    <${ViewContent} view=${view} empty="None."><${Table} label="Instances" columns=${columns} rows=${view.rows || []}
      rowProps=${one => ({'data-testid': 'instance', 'data-name': one.world})} /><//>
  </div>`;
}

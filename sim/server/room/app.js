// The layout of the page: the clock at the top, the timeline below it, then the history, the
// selected input and the market. All other panels are in tabs. On a narrow screen every panel is in
// a tab.

import {Account} from './panels/accounts.js';
import {Actions} from './panels/actions.js';
import {Branches} from './panels/branches.js';
import {Clock} from './panels/clock.js';
import {Detail} from './panels/detail.js';
import {Faults} from './panels/faults.js';
import {Figures} from './panels/figures.js';
import {History} from './panels/history.js';
import {Instances} from './panels/instances.js';
import {LastCall} from './panels/last_call.js';
import {Limits} from './panels/limits.js';
import {LastTrades, Market} from './panels/market.js';
import {Orders} from './panels/orders.js';
import {Script} from './panels/script.js';
import {Settings} from './panels/settings.js';
import {Streams} from './panels/streams.js';
import {Time} from './panels/time.js';
import {TokenForm} from './panels/token.js';
import {Tour} from './panels/tour.js';
import {Verifications} from './panels/verifications.js';
import {Webhooks} from './panels/webhooks.js';
import {isReport} from './recorded.js';
import {patch, useKeys} from './store.js';
import {html} from './vendor/preact-htm.js';
import {ConfirmDialog, Tabs} from './widgets.js';

const ALL_TABS = [
  ['script', 'Script', Script],
  ['orders', 'Orders', Orders],
  ['accounts', 'Accounts', Account],
  ['figures', 'Figures', Figures],
  ['streams', 'Streams', Streams],
  ['webhooks', 'Webhooks', Webhooks],
  ['verifications', 'Verifications', Verifications],
  ['limits', 'Limits', Limits],
  ['faults', 'Faults', Faults],
  ['settings', 'Settings', Settings],
  ['branches', 'Branches', Branches],
  ['instances', 'Instances', Instances],
  ['actions', 'Do', Actions],
];
const LIVE_ONLY = ['instances', 'actions']; // not in a report
const TABS = ALL_TABS.filter(([id]) => !isReport || !LIVE_ONLY.includes(id));
const UNFINISHED_ONLY = ['actions']; // not in a run that has finished
const NARROW_TABS = [['history', 'History', History], ['detail', 'Detail', Detail], ['book', 'Market', Market], ['trades', 'Trades', LastTrades]];

function TabbedPanels({parts, role = 'region'}) {
  const {tab, script, finished} = useKeys('tab', 'script', 'finished');
  parts = parts.filter(([id]) => !finished || !UNFINISHED_ONLY.includes(id));
  const counts = {script: script.failed ? `${script.failed} ✗` : ''};
  const tabs = parts.map(([id, title]) => [id, title, counts[id]]);
  const [id, title, Panel] = parts.find(([name]) => name === tab) || parts[0];
  return html`<section class="lower" role=${role} aria-label="Parts of the exchange">
    <${Tabs} tabs=${tabs} chosen=${id} onChoose=${chosen => patch({tab: chosen})} label="Parts of the exchange" />
    <div class="panel" role="tabpanel" id="panel" aria-labelledby=${'tab-' + id} aria-label=${title}><${Panel} key=${id} /></div>
  </section>`;
}

export function App() {
  const {narrow, moment, needsToken} = useKeys('narrow', 'moment', 'needsToken');
  if (needsToken) return html`<${TokenForm} />`;
  return html`<div class=${moment === null ? 'room' : 'room past'}>
    <${Clock} />
    <${Tour} />
    <${Time} />
    ${narrow
      ? html`<${TabbedPanels} parts=${[...NARROW_TABS, ...TABS]} role="main" />`
      : html`<main class="upper"><${History} /><${Detail} /><${Market} /></main><${TabbedPanels} parts=${TABS} />`}
    ${!isReport && html`<${LastCall} />`}
    <${ConfirmDialog} />
  </div>`;
}

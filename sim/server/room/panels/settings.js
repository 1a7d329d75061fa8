// The values of quirks and assumptions, with controls to change them, and the presets and readings.

import {tryCall} from '../control.js';
import {useKeys} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useOnce, useView} from '../views.js';
import {ViewContent, cx} from '../widgets.js';

const text = value => (typeof value === 'string' ? value : JSON.stringify(value));

function Setting({kind, row, about}) {
  const {moment, finished} = useKeys('moment', 'finished');
  const [draft, setDraft] = useState(null);
  const path = `/${kind}/${encodeURIComponent(row.name)}`;
  const set = async value => {
    await tryCall('PUT', path, {value});
    setDraft(null);
  };
  const send = event => {
    event.preventDefault();
    if (draft !== null && draft !== text(row.value)) set(valueOf(draft, row.default));
  };
  const changed = text(row.value) !== text(row.default);
  return html`<li class=${cx('setting', changed && 'changed')} data-testid=${kind === 'quirks' ? 'quirk' : 'assumption'} data-name=${row.name} data-value=${text(row.value)}>
    <form onSubmit=${send}>
      <label title=${about ? about.summary || about.reason : ''}><span>${row.name}</span>
        ${finished ? html`<code>${text(row.value)}</code>` : html`<input value=${draft ?? text(row.value)} disabled=${moment !== null} spellcheck="false" aria-label=${row.name}
          onInput=${event => setDraft(event.target.value)} onBlur=${send} />`}</label>
      ${changed && !finished ? html`<button type="button" class="quiet" onClick=${() => set(row.default)} title=${`default: ${text(row.default)}`}>default</button>` : ''}
    </form>
    <p class="faint">${about ? about.summary || about.reason : ''} ${about && about.accepts ? html`<span>Takes ${about.accepts}.</span>` : ''}</p>
  </li>`;
}

// Converts the text that was typed to the type of the setting.
function valueOf(typed, like) {
  if (typeof like === 'string') return typed;
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

export function Settings() {
  const {moment, finished} = useKeys('moment', 'finished');
  const quirks = useView('quirks'), assumptions = useView('assumptions');
  const aboutQuirks = useOnce('/catalogue/quirks', 'quirks'), aboutAssumptions = useOnce('/catalogue/assumptions', 'assumptions');
  const presets = useOnce(finished ? null : '/catalogue/presets', 'presets');
  const [words, setWords] = useState('');
  const fits = row => words.toLowerCase().split(/\s+/).every(word => row.name.toLowerCase().includes(word)) ||
    (words === 'changed' && text(row.value) !== text(row.default));
  const about = (view, key) => Object.fromEntries((view.rows || []).map(one => [one[key], one]));
  const ofQuirks = about(aboutQuirks, 'quirk'), ofAssumptions = about(aboutAssumptions, 'assumption');
  return html`<div class="fill column" data-testid="settings">
    <div class="bar">
      <input type="search" value=${words} onInput=${event => setWords(event.target.value)} placeholder="filter, or: changed" title="words of a name; changed shows what is not at its default" aria-label="Filter settings" />
      ${!finished && html`<span class="group" role="group" aria-label="Preset"><span class="faint">preset</span>${(presets.rows || []).map(one => html`<button key=${one.preset} class="quiet" disabled=${moment !== null}
        title=${one.summary} onClick=${() => tryCall('PUT', '/preset', {name: one.preset})}>${one.preset}</button>`)}</span>
      <span class="group" role="group" aria-label="Reading"><span class="faint">reading</span>${['documented', 'observed'].map(name => html`<button key=${name} class="quiet" disabled=${moment !== null}
        onClick=${() => tryCall('PUT', '/reading', {name})}>${name}</button>`)}</span>`}
    </div>
    <div class="scroll two" tabindex="0">
      <section><h3>Quirks</h3><${ViewContent} view=${quirks} empty="None."><ul class="plain">
        ${(quirks.rows || []).filter(fits).map(row => html`<${Setting} key=${row.name} kind="quirks" row=${row} about=${ofQuirks[row.name]} />`)}</ul><//></section>
      <section><h3>Assumptions</h3><${ViewContent} view=${assumptions} empty="None."><ul class="plain">
        ${(assumptions.rows || []).filter(fits).map(row => html`<${Setting} key=${row.name} kind="assumptions" row=${row} about=${ofAssumptions[row.name]} />`)}</ul><//></section>
    </div>
  </div>`;
}

// Faults that are in force or over, and a form that injects one, in the syntax of a scenario.

import {tryCall} from '../control.js';
import {grouped, shown} from '../format.js';
import {useKeys} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useOnce, useView} from '../views.js';
import {ViewContent, Empty, Tag, cx} from '../widgets.js';

const EXAMPLES = [
  ['orders answer 503, the second time', '{match: {operation: CreateOrder, nth: 2}, act: {status: 503}}'],
  ['every exchange call takes 3 s', '{match: {plane: exchange}, act: {delay: 3s}, ttl: 1h}'],
  ['the connection is reset, once', '{match: {plane: retail}, act: {reset: true}, times: 1}'],
];

export function Faults() {
  const {moment, finished} = useKeys('moment', 'finished');
  const view = useView('faults');
  const kinds = useOnce(finished ? null : '/catalogue/faults', 'faults');
  const [text, setText] = useState('');
  const add = async event => {
    event.preventDefault();
    const json = text.trim().startsWith('{"');
    const entry = json ? parseJson(text) : null;
    const injected = entry ? await tryCall('POST', '/faults', entry) : await tryCall('POST', '/faults', text, 'application/yaml');
    if (injected) setText('');
  };
  return html`<div class=${finished ? 'fill' : 'fill split'} data-testid="faults">
    <div class="column">
      <${ViewContent} view=${view} empty="No fault is in force.">
        <ul class="plain scroll" tabindex="0">${(view.rows || []).map(one => html`<li key=${one.id} class=${cx('fault', one.over && 'late')}
            data-testid="fault" data-id=${one.id} data-over=${String(one.over)}>
          <b class="num">${one.id}</b>
          <code class="match">${shown(one.match)}</code> <span aria-hidden="true">→</span> <code class="act">${shown(one.act)}</code>
          <span class="faint num">affected ${grouped(one.affected)} of ${grouped(one.matched)} matches</span>
          ${one.over ? html`<${Tag}>over<//>` : moment === null && !finished && html`<button class="quiet" data-testid="fault-remove" data-id=${one.id}
            onClick=${() => tryCall('DELETE', `/faults/${one.id}`)}>Remove</button>`}</li>`)}</ul><//>
    </div>
    ${!finished && html`<form class="one column" onSubmit=${add}>
      <label for="fault-entry">A fault as a scenario writes it, in YAML or JSON</label>
      <textarea id="fault-entry" data-testid="fault-entry" rows="4" spellcheck="false" value=${text}
        placeholder=${EXAMPLES[0][1]} onInput=${event => setText(event.target.value)}></textarea>
      <div class="buttons"><button class="main" data-testid="fault-add" disabled=${moment !== null || !text.trim()}>Inject</button>
        ${EXAMPLES.map(([title, entry]) => html`<button type="button" class="quiet" onClick=${() => setText(entry)}>${title}</button>`)}</div>
      <details><summary>What a fault can do</summary>
        ${kinds.rows ? html`<ul class="plain">${kinds.rows.map(one => html`<li key=${one.act}><code>${one.act}</code> ${one.does}
          <span class="faint">${one.matches}</span></li>`)}</ul>` : html`<${Empty}>…<//>`}</details>
    </form>`}
  </div>`;
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // it is sent as text, and the exchange reports where it is wrong
  }
}

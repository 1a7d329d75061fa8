// Values of a record as people read them: a tree of keys, and the explanation in sentences.

import {html} from '../vendor/preact-htm.js';
import {Tag} from '../widgets.js';

const LONG = 600;

// A JSON value as indented keys; everything is text, whatever a client sent.
export function Json({value, depth = 0}) {
  if (value === null || value === undefined) return html`<span class="json nil">null</span>`;
  if (typeof value !== 'object') return html`<${Leaf} value=${value} />`;
  const entries = Array.isArray(value) ? value.map((one, place) => [place, one]) : Object.entries(value);
  if (!entries.length) return html`<span class="json nil">${Array.isArray(value) ? '[]' : '{}'}</span>`;
  if (depth > 12) return html`<span class="json">${JSON.stringify(value)}</span>`;
  const flat = entries.every(([, one]) => one === null || typeof one !== 'object');
  if (Array.isArray(value) && flat && JSON.stringify(value).length < 90)
    return html`<span class="json">${value.map(one => html`<${Leaf} value=${one} /> `)}</span>`;
  return html`<dl class="json">${entries.map(([key, one]) => html`<div>
    <dt>${key}</dt><dd><${Json} value=${one} depth=${depth + 1} /></dd></div>`)}</dl>`;
}

function Leaf({value}) {
  const text = String(value);
  const kind = typeof value === 'string' ? 'text' : 'num';
  if (text.length <= LONG) return html`<span class=${'json ' + kind}>${text}</span>`;
  return html`<details class="json"><summary>${text.slice(0, 120)}… (${text.length} characters)</summary>${text}</details>`;
}

// What `explain` says: the sentence, the rule, what would have worked, and the chain behind it.
export function Why({why}) {
  if (!why || (typeof why === 'object' && !Object.keys(why).length)) return null;
  if (typeof why === 'string') return html`<div class="why"><p>${why}</p></div>`;
  const {summary, message, rule, section, remedy, advice, because, chain, ...rest} = why;
  const says = message || summary || because;
  const steps = Array.isArray(chain) ? chain : [];
  return html`<div class="why" data-testid="why">
    <h3>Why</h3>
    ${says && html`<p class="says">${says}</p>`}
    ${rule || section ? html`<p>${rule && html`<${Tag}>rule ${rule}<//>`} ${section && html`<${Tag}>§${String(section).replace(/^§/, '')}<//>`}</p>` : ''}
    ${remedy || advice ? html`<p class="remedy"><b>What would have worked:</b> ${remedy || advice}</p>` : ''}
    ${steps.length ? html`<ol class="chain">${steps.map(step => html`<li><${Json} value=${step} /></li>`)}</ol>` : ''}
    ${Object.keys(rest).length ? html`<${Json} value=${rest} />` : ''}
  </div>`;
}


// Shows a record: values as a tree of keys, and the explanation of the answer in sentences.

import {grouped, shown} from '../format.js';
import {RULES} from '../rules.js';
import {choose} from '../run.js';
import {useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {Tag, When} from '../widgets.js';

const COLLAPSED_ABOVE = 600;
const NO_REMEDY = 'nothing is wrong'; // the remedy if nothing was refused
// Keys of an explanation that the page shows elsewhere.
const SHOWN_ELSEWHERE = ['request_id', 'operation', 'refusal', 'status', 'code', 'now', 'subject', 'kind', 'seq', 'caller'];

// Returns whether a value is an instant in nanoseconds since the epoch, the form of the journal.
const isInstant = (key, value) => typeof value === 'number' && value > 1e17 && /^(at|now|until|since|due|begins|ends)$/.test(key);

// Shows a JSON value as indented keys. All values are inserted as text: a client may have sent
// HTML.
export function Json({value, depth = 0}) {
  if (value === null || value === undefined) return html`<span class="json nil">null</span>`;
  if (typeof value !== 'object') return html`<${Leaf} value=${value} />`;
  const entries = Array.isArray(value) ? value.map((one, place) => [place, one]) : Object.entries(value);
  if (!entries.length) return html`<span class="json nil">${Array.isArray(value) ? '[]' : '{}'}</span>`;
  if (depth > 12) return html`<span class="json">${JSON.stringify(value)}</span>`;
  const scalarsOnly = entries.every(([, one]) => one === null || typeof one !== 'object');
  if (Array.isArray(value) && scalarsOnly && JSON.stringify(value).length < 90)
    return html`<span class="json">${value.map(one => html`<${Leaf} value=${one} /> `)}</span>`;
  return html`<dl class="json">${entries.map(([key, one]) => html`<div>
    <dt>${key}</dt><dd>${isInstant(key, one) ? html`<${When} at=${one / 1e6} />` : html`<${Json} value=${one} depth=${depth + 1} />`}</dd></div>`)}</dl>`;
}

function Leaf({value}) {
  const text = String(value);
  const kind = typeof value === 'string' ? 'text' : 'num';
  if (text.length <= COLLAPSED_ABOVE) return html`<span class=${'json ' + kind}>${text}</span>`;
  return html`<details class="json"><summary>${text.slice(0, 120)}… (${text.length} characters)</summary>${text}</details>`;
}

// The name of a rule, such as M20 or "S5.1-6". It expands to the text of the rule and a link to it
// in the documentation.
function Rule({name}) {
  const {health} = useKeys('health');
  const text = RULES[name];
  if (!text) return html`<${Tag}>rule ${name}<//>`;
  return html`<details class="rule" data-testid="rule" data-rule=${name}><summary><${Tag}>rule ${name}<//></summary><span>${text}
    ${health && health.docs && html` <a href=${`${health.docs}/rules#${name.toLowerCase()}`} target="_blank" rel="noreferrer">in the rules ↗</a>`}</span></details>`;
}

// Shows the explanation of an answer: a sentence, the rule, what would have worked, and the causes.
export function Why({why}) {
  if (!why) return null;
  const {summary, message, rule, facts = {}, section, remedy, retry, retry_after_s: wait, assumptions = [], fault, chain = [], chain_length: length = 0, stage, ...rest} = why;
  const more = Object.fromEntries(Object.entries(rest).filter(([key]) => !SHOWN_ELSEWHERE.includes(key)));
  const sentence = message && summary && summary.includes(message) ? summary : message || summary;
  return html`<div class="why" data-testid="why">
    <h3>Why</h3>
    <p class="says">${sentence}</p>
    <div class="tags">${rule ? html`<${Rule} name=${rule} /> ` : ''}${section && !String(rule).includes(section) ? html`<${Tag}>§${section}<//> ` : ''}
      ${Object.entries(facts).map(([name, value]) => html`<${Tag}>${name}: ${String(value)}<//> `)}
      ${stage ? html`<${Tag}>stage ${stage}<//> ` : ''}${fault ? html`<code>${shown((fault.spec || {}).match)} → ${shown((fault.spec || {}).act)}</code> ` : ''}
      ${assumptions.map(one => html`<span title=${one.source}><${Tag}>${one.name}: ${String(one.value)}<//> </span>`)}</div>
    ${remedy && remedy !== NO_REMEDY && html`<p class="remedy"><b>What would have worked:</b> ${remedy}${retry ? `; a retry may succeed${wait ? ` after ${wait} s` : ''}` : ''}</p>`}
    ${length > chain.length ? html`<p class="faint">The latest ${chain.length} of ${grouped(length)} causes:</p>` : ''}
    ${chain.length ? html`<ol class="chain">${chain.map(one => html`<li key=${one.seq + one.what}>
      <${When} at=${one.at} /> ${one.seq ? html`<button class="link num" onClick=${() => choose(one.seq)}>#${one.seq}</button> ` : ''}
      ${one.what} <span class="faint">${one.by}</span>${one.rule && one.rule !== rule ? html` <${Rule} name=${one.rule} />` : ''}
      ${Object.entries(one.facts || {}).map(([name, value]) => html` <span class="faint">${name} ${String(value)}</span>`)}</li>`)}</ol>` : ''}
    ${Object.keys(more).length > 0 && html`<details><summary>More</summary><${Json} value=${more} /></details>`}
  </div>`;
}

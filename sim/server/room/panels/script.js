// The steps of the scenario: their state, their text, and their lines in the file.

import {choose, goTo, rows} from '../run.js';
import {useKeys} from '../store.js';
import {html} from '../vendor/preact-htm.js';
import {Empty, State, When, cx} from '../widgets.js';

const MARKS = {passed: '✓', failed: '✗', refused: '✗', pending: '·'};

// Returns the input in which a step ran, or null if it has not run.
function rowOf(step) {
  const begins = `step step ${step.n} `;
  for (let seq = 1; seq <= rows.indexed; seq++) if (rows.searchTexts[seq]?.startsWith(begins)) return seq;
  return null;
}

export function Script() {
  const {script, moment, momentAt} = useKeys('script', 'moment', 'momentAt');
  const steps = script.steps || [];
  const look = step => {
    const seq = rowOf(step);
    if (!seq) return;
    choose(seq);
    goTo(seq);
  };
  return html`<div class="script fill" data-testid="script" data-failed=${script.failed}>
    ${!steps.length ? html`<${Empty}>This scenario has no steps.<//>` : html`<ol class="steps">
      ${steps.map(step => {
        const ahead = moment !== null && momentAt && /^\d{4}-/.test(step.at) && Date.parse(step.at) > Date.parse(momentAt);
        return html`<li key=${step.n} class=${cx('step', step.state, ahead && 'late')} data-testid="script-row" data-state=${step.state} data-n=${step.n}>
          <span class="mark" aria-label=${step.state}>${MARKS[step.state] || '?'}</span>
          <span class="num faint">${step.n}</span>
          ${/^\d{4}-/.test(step.at) ? html`<${When} at=${step.at} />` : html`<span class="faint at">${step.at}</span>`}
          <button class="link name" onClick=${() => look(step)} title="the moment of this step">${step.name || step.kind}</button>
          <${State} of=${step.kind} />
          <span class="says">${step.says}</span>
          <code class="faint">${step.where}</code></li>`;
      })}</ol>`}
  </div>`;
}

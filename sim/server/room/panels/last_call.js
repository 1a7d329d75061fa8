// The foot of the page: the last control call that the page made, its answer, and the same call as
// a curl command, as Python code and as a scenario step.

import {shown} from '../format.js';
import {patch, useKeys} from '../store.js';
import {asCurl, asPython, asStep} from '../call_text.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useOnce} from '../views.js';

const FORMS = [['curl', 'curl', asCurl], ['python', 'Python', asPython], ['step', 'Scenario step', asStep]];

export function LastCall() {
  const {lastCall, busy, forked} = useKeys('lastCall', 'busy', 'forked');
  const calls = useOnce(lastCall ? '/calls' : null, 'calls');
  const [opened, setOpened] = useState({}); // {call, form}: a new call closes the text
  const form = opened.call === lastCall ? opened.form : '';
  const setForm = name => setOpened({call: lastCall, form: name});
  const [copied, setCopied] = useState(false);
  const chosen = FORMS.find(([id]) => id === form);
  const text = chosen && lastCall && calls.rows ? chosen[2](lastCall, calls.rows) : '';
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const callText = lastCall && `${lastCall.verb} ${lastCall.path} ${typeof lastCall.body === 'string' ? '' : shown(lastCall.body)}`;
  // An answer with status 200 may still be a refusal, such as that of a rejected order.
  const rejected = /REJECTED$/.test(lastCall?.answer?.state || '');
  const answerText = lastCall && (lastCall.problem ? `${lastCall.status || 'no answer'}: ${lastCall.problem}` : shown(lastCall.answer));
  return html`<footer class="foot" data-testid="last-call">
    ${chosen && lastCall && html`<div class="pasted">
      <pre data-testid="call-text">${text}</pre>
      <button onClick=${copy}>${copied ? 'Copied' : 'Copy'}</button>
      <button class="quiet" aria-label="close" onClick=${() => setForm('')}>×</button></div>`}
    <div class="line">
      ${lastCall
        ? html`<code class="made" title=${callText}>${callText}</code>
            <span class=${lastCall.problem || rejected ? 'came bad' : 'came'} role="status" title=${answerText}>${busy ? '…' : answerText}</span>`
        : html`<span class="faint">Calls that this page makes to the control plane are shown here.</span>`}
      ${forked && html`<a class="forked" href=${forked.url} target="_blank" rel="noreferrer" data-testid="forked">room of ${forked.name} ↗</a>
        <button class="quiet" aria-label="forget" onClick=${() => patch({forked: null})}>×</button>`}
      ${lastCall && FORMS.map(([id, title]) => html`<button class="quiet" aria-pressed=${form === id}
        data-testid=${'as-' + id} onClick=${() => setForm(form === id ? '' : id)}>${title}</button>`)}
    </div>
  </footer>`;
}

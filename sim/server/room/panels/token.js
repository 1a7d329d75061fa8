// The form that asks for the control token if the exchange needs one and the address has none.

import {storeToken} from '../control.js';
import {refresh} from '../run.js';
import {patch} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';

export function TokenForm() {
  const [text, setText] = useState('');
  const go = event => {
    event.preventDefault();
    storeToken(text.trim());
    patch({needsToken: false});
    dispatchEvent(new Event('tokenchange'));
    refresh();
  };
  return html`<form class="token" onSubmit=${go}>
    <h1>Control room</h1>
    <p>This exchange asks for its control token. <code>sim serve</code> prints it, and the ready file has it as
      <code>control_token</code>. It stays in this tab.</p>
    <label>Token <input type="password" autocomplete="off" autofocus value=${text} data-testid="token"
      onInput=${event => setText(event.target.value)} /></label>
    <button class="main">Open</button>
  </form>`;
}

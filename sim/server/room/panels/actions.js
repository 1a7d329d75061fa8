// Forms for what a tester does by hand: orders, instrument states, settlements, money, prices,
// maintenance, and any other call of the control plane.

import {makeCall, Refusal, saveScenario, tryCall} from '../control.js';
import {confirm} from '../run.js';
import {useKeys} from '../store.js';
import {html, useState} from '../vendor/preact-htm.js';
import {useOnce, useView} from '../views.js';

const STATES = ['OPEN', 'SUSPENDED', 'HALTED', 'PREOPEN', 'CLOSED', 'EXPIRED', 'SCHEDULE'];

function Form({title, children, onGo, testid, button}) {
  const go = event => {
    event.preventDefault();
    onGo(Object.fromEntries(new FormData(event.target)));
  };
  return html`<form class="action" onSubmit=${go} data-testid=${testid}><h3>${title}</h3>${children}
    <button class="main">${button}</button></form>`;
}

const Field = ({name, label, value = '', ...more}) =>
  html`<label>${label || name}<input name=${name} value=${value} spellcheck="false" autocomplete="off" ...${more} /></label>`;

function OrderForm({symbol}) {
  const send = ({as, side, type, tif, price, qty}) =>
    tryCall('POST', '/orders', {as, symbol, side, ...(price ? {price} : {}), qty, ...(type ? {type} : {}), ...(tif ? {tif} : {})});
  const users = useView('users');
  const names = ['maker', 'taker', 'noise', ...(users.rows || []).map(one => one.user)];
  return html`<${Form} title="Send an order" onGo=${send} testid="do-order" button="Send">
    <label>as<input name="as" value="maker" list="parties" spellcheck="false" /></label>
    <datalist id="parties">${names.map(name => html`<option value=${name} key=${name} />`)}</datalist>
    <label>side<select name="side"><option value="buy">buy</option><option value="sell">sell</option></select></label>
    <${Field} name="price" value="0.50" class="short num" /><${Field} name="qty" label="contracts" value="10" class="short num" />
    <label>type<select name="type"><option value="">limit</option><option value="market_to_limit">market to limit</option></select></label>
    <label>time in force<select name="tif"><option value="">default</option><option value="day">day</option><option value="ioc">ioc</option><option value="fok">fok</option></select></label>
  <//>`;
}

// Suggests account names to a form field.
function AccountNames() {
  const accounts = useView('accounts');
  return html`<datalist id="accounts">${(accounts.rows || []).map(one => html`<option value=${one.account} key=${one.account} />`)}</datalist>`;
}

function InstrumentForms({symbol}) {
  const path = '/instruments/' + encodeURIComponent(symbol);
  const state = ({state: to}) => tryCall('POST', `${path}/state`, {state: to});
  const settle = async ({price}) => {
    const sure = await confirm(`Settle ${symbol} at ${price}?`, 'It closes, every position is paid at once, and this does not come back with the clock.', 'Settle');
    if (sure) await tryCall('POST', `${path}/settle`, {price});
  };
  return html`<${Form} title="Move the instrument" onGo=${state} testid="do-state" button="Set state">
      <label>state<select name="state">${STATES.map(one => html`<option key=${one} value=${one} selected=${one === 'HALTED'}>${one}</option>`)}</select></label><//>
    <${Form} title="Settle it" onGo=${settle} testid="do-settle" button="Settle"><${Field} name="price" value="1" class="short num" /><//>`;
}

function AnyCall() {
  const calls = useOnce('/calls', 'calls');
  const rows = (calls.rows || []).filter(one => !one.call.startsWith('GET '));
  const [name, setName] = useState('');
  const [path, setPath] = useState('');
  const [body, setBody] = useState('');
  const [description, setDescription] = useState('');
  const pick = event => {
    const chosen = rows.find(one => one.call === event.target.value);
    setName(event.target.value);
    setPath(chosen ? chosen.call.split(' ')[1] : '');
    setBody(chosen && chosen.body ? JSON.stringify(chosen.body) : '');
    setDescription(chosen ? chosen.does : '');
  };
  const go = async event => {
    event.preventDefault();
    try {
      await makeCall(name.split(' ')[0], path, body.trim() ? JSON.parse(body) : {});
    } catch (problem) {
      if (!(problem instanceof Refusal)) setDescription(String(problem.message));
    }
  };
  return html`<form class="action wide" onSubmit=${go} data-testid="do-any"><h3>Any other call</h3>
    <label>call<select value=${name} onChange=${pick}><option value="">choose…</option>
      ${rows.map(one => html`<option key=${one.call} value=${one.call}>${one.call}</option>`)}</select></label>
    <label class="grow">path<input value=${path} onInput=${event => setPath(event.target.value)} spellcheck="false" /></label>
    <label class="grow">body<input value=${body} onInput=${event => setBody(event.target.value)} spellcheck="false" /></label>
    <button class="main" disabled=${!name}>Call</button><p class="faint">${description}</p></form>`;
}

export function Actions() {
  const {symbol, moment} = useKeys('symbol', 'moment');
  const maintain = ({begins, length}) => tryCall('POST', '/maintenance', {...(begins ? {begins} : {}), length});
  const fund = ({account, amount}) => tryCall('POST', `/accounts/${account}/fund`, {amount});
  const price = ({asset, price: to}) => tryCall('POST', `/prices/${encodeURIComponent(asset)}`, {price: to});
  return html`<div class="fill scroll" data-testid="actions" tabindex="0">
    <p class="bar"><button onClick=${saveScenario} data-testid="save-scenario" title="what was done so far, as steps of a scenario file">Save as a scenario</button><span>Acts on the running exchange${moment === null ? '' : ', not on the past that is shown'}; instrument <b>${symbol || 'none'}</b>.</span></p>
    <div class="actions">
      <${OrderForm} symbol=${symbol} /><${InstrumentForms} symbol=${symbol} />
      <${Form} title="Announce maintenance" onGo=${maintain} testid="do-maintenance" button="Announce">
        <${Field} name="begins" value="+10m" class="short" /><${Field} name="length" value="5m" class="short" /><//>
      <${Form} title="Fund an account" onGo=${fund} testid="do-fund" button="Fund">
        <label>account<${AccountNames} /><input name="account" list="accounts" required spellcheck="false" /></label><${Field} name="amount" value="100.00" class="short num" /><//>
      <${Form} title="Tick a price" onGo=${price} testid="do-price" button="Tick">
        <${Field} name="asset" value="crypto:btc" class="short" /><${Field} name="price" value="63000.5" class="short num" /><//>
      <${AnyCall} />
    </div>
  </div>`;
}

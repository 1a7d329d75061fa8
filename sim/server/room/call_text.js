// Writes a call of the control plane as text to copy: a curl command, Python code for a test, or
// the step of a scenario.

import {PREFIX, token} from './control.js';
import {state} from './store.js';

const shellQuoted = text => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl({verb, path, body, type}) {
  const parts = ['curl'];
  if (state.health?.tls_ca) parts.push('--cacert', shellQuoted(state.health.tls_ca));
  if (verb !== 'POST' || !hasBody(body)) parts.push('-X', verb);
  parts.push(shellQuoted(location.origin + PREFIX + path));
  if (token()) parts.push('-H', '"Authorization: Bearer $SIM_CONTROL_TOKEN"');
  if (hasBody(body)) {
    if (type !== 'application/json') parts.push('-H', shellQuoted('Content-Type: ' + type));
    parts.push('-d', shellQuoted(typeof body === 'string' ? body : JSON.stringify(body)));
  }
  return parts.join(' ');
}

const hasBody = body => typeof body === 'string' || Object.keys(body || {}).length > 0;

export function asPython({verb, path, body}) {
  const argument = hasBody(body) ? `, ${typeof body === 'string' ? pythonString(body) : pythonLiteral(body)}` : '';
  return `exchange.control(${pythonString(verb)}, ${pythonString(path)}${argument})  # in a test with the fixture`;
}

const pythonString = text => JSON.stringify(text);

function pythonLiteral(value) {
  if (value === null) return 'None';
  if (value === true || value === false) return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value).map(([key, one]) => `${pythonString(key)}: ${pythonLiteral(one)}`).join(', ')}}`;
  return JSON.stringify(value);
}

// Returns the scenario step that does the same as a call, or a YAML comment if there is none.
// `calls` are the rows of GET /calls, which have the step of each call.
export function asStep(call, calls) {
  if (call.path === '/clock/advance')
    return call.body.by ? `- at: +${call.body.by}` : call.body.to ? `- at: ${call.body.to}` : '# a step says when it runs: at';
  for (const row of calls) {
    const [verb, template] = row.call.split(' ');
    const variables = verb === call.verb && match(template, call.path);
    if (!variables) continue;
    if (!row.step) break;
    if (typeof call.body === 'string') return `- ${row.step}:${indentedYaml(call.body.trim())}`;
    return '- ' + yaml({[row.step]: stepValue(row, variables, call)});
  }
  return `# no step of a scenario does ${call.verb} ${call.path}`;
}

// Returns YAML that the user typed, as the value of a key: several lines are indented.
const indentedYaml = text => (text.includes('\n') ? text.split('\n').map(line => '\n    ' + line).join('') : ' ' + text);

function stepValue(row, variables, {body}) {
  const subject = row.subject ? {[row.subject]: Object.values(variables)[0]} : {};
  if (row.form === 'text') return Object.values({...subject, ...body})[0];
  if (row.form === 'pair') return {[Object.values(subject)[0]]: Object.values(body)[0]};
  return {...subject, ...body};
}

function match(template, path) {
  const names = [];
  const pattern = template.replace(/\{(\w+)(\*?)\}/g, (_, name, many) => {
    names.push(name);
    return many ? '(.+)' : '([^/]+)';
  });
  const matched = new RegExp(`^${pattern}$`).exec(path.split('?')[0]);
  return matched && Object.fromEntries(names.map((name, place) => [name, decodeURIComponent(matched[place + 1])]));
}

// Writes an object with one key as YAML in flow style. Strings that YAML reads as plain text have
// no quotes; all other scalars are JSON, which is valid YAML.
export function yaml(value) {
  const flow = one => {
    if (one === null || typeof one !== 'object') return scalar(one);
    if (Array.isArray(one)) return `[${one.map(flow).join(', ')}]`;
    return `{${Object.entries(one).map(([key, part]) => `${scalar(key)}: ${flow(part)}`).join(', ')}}`;
  };
  const [[key, part]] = Object.entries(value);
  if (typeof part === 'string' && part.includes('\n'))
    return `${key}:\n${part.trimEnd().split('\n').map(line => '    ' + line).join('\n')}`;
  return `${key}: ${flow(part)}`;
}

const YAML_PLAIN = /^[A-Za-z_][\w./-]*$/;
const YAML_KEYWORD = /^(true|false|yes|no|on|off|null|y|n)$/i;
const scalar = one =>
  typeof one === 'string' && YAML_PLAIN.test(one) && !YAML_KEYWORD.test(one) ? one : JSON.stringify(one);

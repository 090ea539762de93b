import type { Operation, Parameter } from './read-document.ts';

/** Bodies up to this length stay on one line. */
const longestLine = 64;

/** A new key for each run: with a fixed one, only the first run would take effect. */
const newKey = { 'Idempotency-Key': '$(uuidgen)' };

/** The operation's example as a command to paste into a terminal, with those of the headers that it takes. */
export function curlFor(
  operation: Operation,
  baseUrl: string,
  headers: Readonly<Record<string, string>> = newKey,
): string {
  const { method, body, needsKey, parameters } = operation;
  const taken = Object.entries(headers).filter(([header]) => parameters.some(({ name }) => name === header));
  const impliedMethod = body === undefined ? 'GET' : 'POST';
  return [
    `curl ${method === impliedMethod ? '' : `-X ${method} `}${quoteWhereNeeded(urlOf(operation, baseUrl))}`,
    ...(needsKey ? ['-H "Authorization: Bearer $PAYWRIGHT_API_KEY"'] : []),
    ...taken.map(([name, value]) => `-H "${name}: ${value}"`),
    ...(body === undefined
      ? []
      : [`-H ${quote(`Content-Type: ${body.mediaType}`)}`, `-d ${quote(bodyText(body.example))}`]),
  ].join(' \\\n  ');
}

function bodyText(example: unknown): string {
  const short = JSON.stringify(example ?? {});
  return short.length <= longestLine ? short : JSON.stringify(example, null, 2).replaceAll('\n', '\n  ');
}

function urlOf({ path, parameters }: Operation, baseUrl: string): string {
  const within = (where: Parameter['in']) => parameters.filter((parameter) => parameter.in === where);
  const filled = within('path').reduce(
    (text, parameter) => text.replaceAll(`{${parameter.name}}`, encodeURIComponent(exampleOf(parameter))),
    path,
  );
  const query = within('query')
    .filter(({ required, example }) => required === true || example !== undefined)
    .map((parameter) => `${encodeURIComponent(parameter.name)}=${encodeURIComponent(exampleOf(parameter))}`);
  return `${baseUrl}${filled}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/** Without an example, the parameter name in capitals is the placeholder. */
function exampleOf({ name, example }: Parameter): string {
  if (example === undefined) return name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  return typeof example === 'object' ? JSON.stringify(example) : String(example);
}

function quoteWhereNeeded(text: string): string {
  return /^[\w:/.,@%+-]+$/.test(text) ? text : quote(text);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

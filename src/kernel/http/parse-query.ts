import { httpErrors } from './errors.ts';
import { refuseUnstorableText } from './parse-body.ts';

/** A repeated parameter is ambiguous, so it is refused. */
export function parseQuery(url: string): Record<string, string> {
  const start = url.indexOf('?');
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  if (start === -1) return query;
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (name in query) throw httpErrors.invalid_request('A query parameter is repeated. Send each parameter once.');
    query[name] = decode(equals === -1 ? '' : pair.slice(equals + 1));
  }
  return query;
}

function decode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw httpErrors.invalid_request('The query is not valid percent-encoded UTF-8.');
  }
  refuseUnstorableText(decoded);
  return decoded;
}

import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { curlFor } from './curl.ts';
import type { Operation } from './read-document.ts';

const read: Operation = {
  id: 'read',
  method: 'GET',
  path: '/things',
  summary: '',
  description: undefined,
  needsKey: false,
  scope: undefined,
  final: undefined,
  scopeOfKey: undefined,
  parameters: [],
  body: undefined,
  answers: [],
  errors: [],
};
const json = (example: unknown) => ({
  mediaType: 'application/json',
  schema: {},
  example,
  resolve: <T>(same: T) => same,
});

/** What curl would be given, as a real shell reads the command. */
function words(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }; uuidgen() { echo uuid; }; PAYWRIGHT_API_KEY=key; ${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

describe('the curl line', () => {
  it('is just the address for a plain read', () => {
    expect(curlFor(read, 'https://a.example/api')).toBe('curl https://a.example/api/things');
  });

  it('names the method only where curl would choose another', () => {
    expect(words(curlFor({ ...read, method: 'POST' }, 'https://a.example'))).toContain('-X');
    expect(words(curlFor({ ...read, method: 'POST', body: json({}) }, 'https://a.example'))).not.toContain('-X');
    expect(words(curlFor({ ...read, method: 'PATCH', body: json({}) }, 'https://a.example'))).toContain('PATCH');
  });

  it('fills in parameters, and shows which have no example', () => {
    const operation: Operation = {
      ...read,
      path: '/things/{thingId}',
      parameters: [
        { name: 'thingId', in: 'path', required: true },
        { name: 'email', in: 'query', example: 'ada+1@example.com' },
        { name: 'limit', in: 'query' },
      ],
    };
    expect(words(curlFor(operation, 'https://a.example'))).toEqual([
      'https://a.example/things/THING_ID?email=ada%2B1%40example.com',
    ]);
  });

  it('says to a shell exactly what the example says', () => {
    const example = { name: `O'Brien "$HOME" \`id\` \\n`, note: 'a line long enough to be set over several lines' };
    const operation: Operation = {
      ...read,
      method: 'POST',
      needsKey: true,
      parameters: [{ name: 'Idempotency-Key', in: 'header' }],
      body: json(example),
    };
    const given = words(curlFor(operation, 'https://a.example'));
    expect(given).toContain('Authorization: Bearer key');
    expect(given).toContain('Idempotency-Key: uuid');
    expect(given).toContain('Content-Type: application/json');
    expect(JSON.parse(given.at(-1) ?? '')).toEqual(example);
  });
});

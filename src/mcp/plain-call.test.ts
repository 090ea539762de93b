import { createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerPlainCall, readPlainCall } from './plain-call.ts';
import { success } from './result.ts';
import { createMcpServer, identityOf, type ServerParts } from './server.ts';
import type { Toolbox, ToolCaller } from './toolbox.ts';

type Call = Omit<Parameters<Toolbox['call']>[1], 'mcpReq'>;

/** Says what it was asked, so that both ways are seen to read the same. */
const tool = ({ name, given, capabilities }: Call) =>
  capabilities?.elicitation?.url === undefined
    ? success({ name, given, capabilities: capabilities ?? null })
    : inputRequired({
        inputRequests: { approval: inputRequired.elicitUrl({ url: 'https://a.example', message: 'a' }) },
      });

const parts = {
  version: '1.2.3',
  toolbox: { list: () => [], call: async (_by: unknown, call: Call) => tool(call) },
} as unknown as ServerParts;
const library = createMcpHandler(() => createMcpServer(parts, {} as ToolCaller));

interface Message {
  readonly headers: Record<string, string>;
  readonly body: Record<string, unknown>;
}

async function answerOfLibrary({ headers, body }: Message) {
  const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers });
  const response = await library.fetch(request, { parsedBody: body });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

/** Undefined where the library is asked. */
function plainAnswer({ headers, body }: Message) {
  const call = readPlainCall(headers, body);
  if (call === undefined) return undefined;
  return { status: 200, ...answerPlainCall(call, tool(call), identityOf('1.2.3')) };
}

/** As JSON, because the order of members has no meaning. */
const read = (answer: Awaited<ReturnType<typeof answerOfLibrary>> | undefined) =>
  answer && { ...answer, text: JSON.parse(answer.text.replace(/^event: message\ndata: /, '')) };

const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const meta = 'io.modelcontextprotocol';

const newest = (capabilities: object = {}): Message => ({
  headers: { ...types, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'send_money' },
  body: {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'send_money',
      arguments: { to: 'PA-00000001', amount: 5 },
      _meta: {
        [`${meta}/protocolVersion`]: '2026-07-28',
        [`${meta}/clientInfo`]: { name: 'test', version: '1' },
        [`${meta}/clientCapabilities`]: capabilities,
      },
    },
  },
});

const older = (version?: string): Message => ({
  headers: { ...types, ...(version !== undefined && { 'mcp-protocol-version': version }) },
  body: { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'send_money', arguments: { amount: '5' } } },
});

const usual: Readonly<Record<string, Message>> = {
  'the newest protocol': newest(),
  'a client that can be asked with a form': newest({ elicitation: {}, sampling: {} }),
  'a client that can show a page': newest({ elicitation: { form: {}, url: {} } }),
  'no version': older(),
  ...Object.fromEntries(['2025-03-26', '2025-06-18', '2025-11-25'].map((version) => [version, older(version)])),
};

describe.each(Object.entries(usual))('a plain call: %s', (_name, message) => {
  test('is answered as the library answers it', async () => {
    const answer = plainAnswer(message);
    expect(answer).toBeDefined();
    expect(read(answer)).toEqual(read(await answerOfLibrary(message)));
  });
});

/** Every place in it, as the names that lead there. */
function placesIn(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([name, inner]) => placesIn(inner).map((place) => [name, ...place]))];
}

interface Wish {
  readonly what: 'put' | 'take' | 'add';
  readonly name: string;
  readonly value: unknown;
}

function change(value: unknown, [name, ...deeper]: readonly string[], wish: Wish): unknown {
  if (name === undefined) return wish.what === 'add' ? { ...(value as object), [wish.name]: wish.value } : wish.value;
  const { [name]: inner, ...others } = value as Readonly<Record<string, unknown>>;
  if (wish.what === 'take' && deeper.length === 0) return others;
  return { ...others, [name]: change(inner, deeper, wish) };
}

const names = ['_meta', 'arguments', 'inputResponses', 'requestState', 'progressToken', 'title', 'url', 'roots', 'x'];
const puts = fc.oneof(
  fc.constantFrom(
    null,
    0,
    1.5,
    -1,
    '',
    'tools/call',
    '2.0',
    '2025-06-18',
    '2026-07-28',
    true,
    [],
    {},
    { form: {} },
    { url: 7 },
  ),
  fc.jsonValue(),
);
const changed = fc
  .record({
    from: fc.constantFrom(...Object.values(usual)),
    inHeaders: fc.boolean(),
    place: fc.nat(),
    what: fc.constantFrom('put', 'take', 'add'),
    name: fc.constantFrom(...names),
    value: puts,
    header: fc.constantFrom(
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'mcp-session-id',
      'accept',
      'content-type',
    ),
    text: fc.constantFrom(
      undefined,
      '',
      'x',
      'tools/list',
      '*/*',
      'application/json',
      '2025-06-18',
      '2026-07-28',
      '2024-01-01',
    ),
  })
  .map(({ from, inHeaders, place, header, text, ...wish }): Message => {
    const places = placesIn(from.body);
    const at = places[place % places.length] ?? [];
    if (!inHeaders) return { ...from, body: change(from.body, at, wish) as Message['body'] };
    const { [header]: _, ...others } = from.headers;
    return { ...from, headers: { ...others, ...(text !== undefined && { [header]: text }) } };
  });

test('whatever else is taken for one is answered as the library answers it', async () => {
  let plain = 0;
  let others = 0;
  await fc.assert(
    fc.asyncProperty(changed, async (message) => {
      const answer = plainAnswer(message);
      if (answer === undefined) {
        others++;
        return;
      }
      plain++;
      expect(read(answer)).toEqual(read(await answerOfLibrary(message)));
    }),
    { numRuns: 2_000 },
  );
  // Neither is an exception.
  expect(plain).toBeGreaterThan(100);
  expect(others).toBeGreaterThan(100);
});

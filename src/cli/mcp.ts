import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { Session } from './session.ts';
import type { Tools } from './tools.ts';

export function addMcpCommand(program: Command, tools: Tools): void {
  program
    .command('mcp')
    .description('serve MCP on standard input and output, for clients that start a program')
    .addHelpText('after', about)
    .action(() => serve(tools.session(), tools));
}

const about = `
Each message goes to /mcp of the service, with the key of the stored login or of PAYWRIGHT_API_KEY. The client's settings:

  {"mcpServers": {"paywright": {"command": "npx", "args": ["paywright", "mcp"]}}}
`;

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly protocolVersion?: string;
    readonly requestId?: string | number;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly protocolVersion?: string };
}

const versionOf = 'io.modelcontextprotocol/protocolVersion';

/** Ends with standard input. What is still under way then is answered to nobody. */
async function serve({ url, apiKey }: Session, { warn }: Tools): Promise<void> {
  const open = new Map<string | number, AbortController>();
  /** Of a client with a handshake: what the service has agreed to. */
  let agreed: string | undefined;

  const write = (message: unknown) => void process.stdout.write(`${JSON.stringify(message)}\n`);

  async function forward(message: Message, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${apiKey}`,
        ...headersOf(message, agreed),
      },
      body: JSON.stringify(message),
      redirect: 'manual',
      signal,
    });
    for await (const answer of messagesOf(response)) {
      agreed = answer.result?.protocolVersion ?? agreed;
      write(answer);
    }
  }

  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === '') continue;
    const message = parse(line);
    if (message === undefined) {
      write({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } });
      continue;
    }
    const { id, method, params } = message;
    if (method === 'notifications/cancelled' && params?.requestId !== undefined) open.get(params.requestId)?.abort();
    const controller = new AbortController();
    if (id !== undefined) open.set(id, controller);
    forward(message, controller.signal)
      .catch((error: Error) => {
        if (controller.signal.aborted) return;
        warn(error.message);
        if (id !== undefined) write({ jsonrpc: '2.0', id, ...failure(message, error) });
      })
      .finally(() => id !== undefined && open.delete(id));
  }
  for (const controller of open.values()) controller.abort();
}

function parse(line: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

function headersOf({ id, method, params }: Message, agreed: string | undefined): Record<string, string> {
  const version = params?._meta?.[versionOf];
  if (typeof version !== 'string') return agreed === undefined ? {} : { 'mcp-protocol-version': agreed };
  const name = params?.name ?? params?.uri;
  return {
    'mcp-protocol-version': version,
    ...(id !== undefined && method !== undefined && { 'mcp-method': method }),
    ...(id !== undefined && typeof name === 'string' && { 'mcp-name': name }),
  };
}

/** The messages of an answer: one as JSON, or any number as a stream. */
async function* messagesOf(response: Response): AsyncGenerator<Message> {
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream') && response.body !== null) {
    let text = '';
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const events = `${text}${part}`.split(/\r?\n\r?\n/);
      text = events.pop() ?? '';
      for (const event of events) {
        const data = event
          .split(/\r?\n/)
          .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []));
        const message = parse(data.join('\n'));
        if (message !== undefined) yield message;
      }
    }
    return;
  }
  const text = await response.text();
  const message = parse(text) as (Message & Problem & { readonly jsonrpc?: string }) | undefined;
  if (message?.jsonrpc === '2.0') yield message;
  else if (!response.ok) throw new Refused(response, message);
}

interface Problem {
  readonly code?: string;
  readonly title?: string;
  readonly detail?: string;
}

/** The service does not take the message, such as one with a revoked key. */
class Refused extends Error {
  readonly code: string;
  readonly title: string;
  readonly nextStep: string;

  constructor({ status, headers }: Response, problem: Problem | undefined) {
    super(problem?.detail ?? `The service answered with status ${status}.`);
    this.code = problem?.code ?? 'unexpected_response';
    this.title = problem?.title ?? 'The service refused the message';
    this.nextStep = stepAfter(status, headers.get('retry-after'));
  }
}

function stepAfter(status: number, seconds: string | null): string {
  if (status === 429 || status >= 500)
    return `Wait ${seconds ?? 'a few'} seconds, then call the tool again with the same arguments.`;
  if (status === 401) return 'Ask the owner to run paywright login, or for a valid API key. No tool works without one.';
  return 'Do not repeat the call as it is. Read the detail, and tell the owner.';
}

/** A model must know whether it may call again, so a tool call that failed is a result. */
function failure({ method, params }: Message, error: Error) {
  const { message } = error;
  if (method !== 'tools/call') return { error: { code: -32603, message } };
  const { code, title, nextStep } = error instanceof Refused ? error : lost;
  const refusal = { code, title, detail: message, nextStep };
  return {
    result: {
      content: [{ type: 'text', text: JSON.stringify(refusal) }],
      structuredContent: refusal,
      isError: true,
      // Required in protocol 2026-07-28, and unknown before.
      ...(params?._meta?.[versionOf] !== undefined && { resultType: 'complete' }),
    },
  };
}

const lost = {
  code: 'connection_lost',
  title: 'The service did not answer',
  nextStep: 'Call the tool again with the same arguments. A payment that took place is not made twice.',
};

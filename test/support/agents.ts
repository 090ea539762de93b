import {
  Client as ModernClient,
  type ClientOptions as ModernOptions,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

interface ToolResult {
  readonly isError?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: what a tool answers is what the test is about
  readonly structuredContent: any;
  readonly content: readonly { readonly type: string; readonly text: string }[];
}

interface ListedTool {
  readonly name: string;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
}

/** What every official client can do. */
export interface McpAgent {
  readonly protocol: string | undefined;
  tools(): Promise<readonly ListedTool[]>;
  call(name: string, given?: object, options?: { readonly onprogress?: () => void }): Promise<ToolResult>;
  readonly client: ModernClient | OlderClient;
  close(): Promise<void>;
}

type Action = 'accept' | 'decline' | 'cancel';

/** How a client lets the service ask its person. */
export interface Elicitation {
  readonly capabilities: { form?: Record<string, never>; url?: Record<string, never> };
  /** Answers instead of the person. */
  readonly answer: () => Promise<{ readonly action: Action; readonly content?: Readonly<Record<string, string>> }>;
}

export interface Connection {
  readonly url: string;
  readonly key: string;
  readonly elicitation?: Elicitation;
  /** Instead of the global one. */
  readonly fetch?: typeof fetch;
}

const who = { name: 'test-agent', version: '1' };
const capabilitiesOf = ({ elicitation }: Connection) => ({
  capabilities: elicitation === undefined ? {} : { elicitation: elicitation.capabilities },
});
const optionsOf = ({ key, fetch }: Connection) => ({
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
  ...(fetch && { fetch }),
});

async function connectModern(
  connection: Connection,
  versionNegotiation: NonNullable<ModernOptions['versionNegotiation']>,
): Promise<McpAgent> {
  const { url, elicitation } = connection;
  const client = new ModernClient(who, { ...capabilitiesOf(connection), versionNegotiation });
  if (elicitation) client.setRequestHandler('elicitation/create', async () => elicitation.answer() as never);
  await client.connect(new ModernTransport(new URL('/mcp', url), optionsOf(connection)));
  return agentOf(client);
}

export type Era = (connection: Connection) => Promise<McpAgent>;

export const eras = {
  /** Without a handshake. */
  '2026-07-28': (connection) => connectModern(connection, { mode: { pin: '2026-07-28' } }),
  'with a handshake': (connection) => connectModern(connection, { mode: 'legacy' }),
  async 'sdk 1.x'(connection) {
    const { url, elicitation } = connection;
    const client = new OlderClient(who, capabilitiesOf(connection));
    if (elicitation) client.setRequestHandler(ElicitRequestSchema, async () => elicitation.answer() as never);
    await client.connect(new OlderTransport(new URL('/mcp', url), optionsOf(connection)) as never);
    return agentOf(client);
  },
} satisfies Record<string, Era>;

/** An entry of `mcpServers` in the settings of a client. */
export type McpSettings =
  | { readonly type?: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly command: string; readonly args: string[]; readonly env: Record<string, string> };

export async function connectWith(settings: McpSettings): Promise<McpAgent> {
  const client = new ModernClient(who);
  await client.connect(
    'url' in settings
      ? new ModernTransport(new URL(settings.url), { requestInit: { headers: settings.headers } })
      : new StdioClientTransport({ ...settings, stderr: 'ignore' }),
  );
  return agentOf(client);
}

export function agentOf(client: ModernClient | OlderClient): McpAgent {
  return {
    client,
    protocol: 'getNegotiatedProtocolVersion' in client ? client.getNegotiatedProtocolVersion() : undefined,
    tools: async () => (await client.listTools()).tools,
    async call(name, given = {}, options = {}) {
      const request = { name, arguments: given as Record<string, unknown> };
      const result =
        client instanceof OlderClient
          ? await client.callTool(request, undefined, options)
          : await client.callTool(request, options);
      return result as unknown as ToolResult;
    },
    close: () => client.close(),
  };
}

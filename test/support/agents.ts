import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

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
  call(name: string, given?: object): Promise<ToolResult>;
  readonly client: ModernClient | OlderClient;
  close(): Promise<void>;
}

interface Connection {
  readonly url: string;
  readonly key: string;
}

const who = { name: 'test-agent', version: '1' };
const withKey = (key: string) => ({ requestInit: { headers: { Authorization: `Bearer ${key}` } } });

export const eras = {
  /** Without a handshake. */
  '2026-07-28': async ({ url, key }: Connection): Promise<McpAgent> => {
    const client = new ModernClient(who, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new ModernTransport(new URL('/mcp', url), withKey(key)));
    return agentOf(client);
  },
  'with a handshake': async ({ url, key }: Connection): Promise<McpAgent> => {
    const client = new ModernClient(who, { versionNegotiation: { mode: 'legacy' } });
    await client.connect(new ModernTransport(new URL('/mcp', url), withKey(key)));
    return agentOf(client);
  },
  'sdk 1.x': async ({ url, key }: Connection): Promise<McpAgent> => {
    const client = new OlderClient(who);
    await client.connect(new OlderTransport(new URL('/mcp', url), withKey(key)) as never);
    return agentOf(client);
  },
};

export function agentOf(client: ModernClient | OlderClient): McpAgent {
  return {
    client,
    protocol: 'getNegotiatedProtocolVersion' in client ? client.getNegotiatedProtocolVersion() : undefined,
    tools: async () => (await client.listTools()).tools,
    call: async (name, given = {}) =>
      (await client.callTool({ name, arguments: given as Record<string, unknown> })) as unknown as ToolResult,
    close: () => client.close(),
  };
}

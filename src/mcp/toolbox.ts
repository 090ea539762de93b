import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import type { CallApi } from './api-port.ts';
import { askOwner, resultOfApproval } from './approval.ts';
import { createWaiting, followingTools, getOperation, waitFor } from './follow.ts';
import { lookUps, requestOf, type ToolOperation, toolOperations } from './operations.ts';
import { resultOf } from './result.ts';

/** To look, to pay, to follow. A client may show the first ones only. */
const order = [
  'get_account',
  'get_balance',
  'find_recipient',
  'quote_fee',
  'send_money',
  'create_invoice',
  'pay_invoice',
  'list_invoices',
  'add_money',
  'withdraw',
  'bridge',
  'swap_quote',
  'swap',
  'search_products',
  'buy_product',
  'pay_url',
  'get_operation',
  'list_history',
  'check_budget',
  'wait_for',
];

export interface ToolCaller {
  readonly account: string;
  readonly call: CallApi;
  readonly scopes: readonly string[];
}

interface PlainToolCall {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly capabilities: ClientCapabilities | undefined;
}

interface ToolCall extends PlainToolCall {
  readonly mcpReq: ServerContext['mcpReq'];
}

type Result = CallToolResult | InputRequiredResult;

export interface Toolbox {
  /** The tools that a key with these scopes may call. */
  list(scopes: readonly string[]): readonly Tool[];
  call(by: ToolCaller, call: ToolCall): Promise<Result>;
  /** The same for a tool that needs nothing but its arguments. Undefined where the tool is another one, or not for this caller. */
  callPlainly?(by: ToolCaller, call: PlainToolCall, signal: AbortSignal): Promise<Result> | undefined;
}

/** The operations that declare themselves as tools, and those that follow any of them. */
export function createToolbox(document: OpenApiDocument, stopping: AbortSignal): Toolbox {
  const waiting = createWaiting(stopping);
  const operations = new Map(toolOperations(document).map((operation) => [operation.tool.name, operation]));
  const byPrefix = lookUps(document);
  const tools = [...[...operations.values()].map(toTool), ...followingTools].sort(
    (one, other) => order.indexOf(one.name) - order.indexOf(other.name),
  );
  const scopeOf = (name: string) => (operations.has(name) ? operations.get(name)?.scope : 'read');
  const allows = (scope: string | undefined, scopes: readonly string[]) =>
    scope === undefined || scopes.includes(scope);
  const list = (scopes: readonly string[]) => tools.filter(({ name }) => allows(scopeOf(name), scopes));

  async function run(
    operation: ToolOperation,
    call: CallApi,
    { given, capabilities }: PlainToolCall,
    signal: AbortSignal,
  ): Promise<Result> {
    const answer = await call(requestOf(operation, given, signal));
    return askOwner(answer, capabilities) ?? resultOf(answer);
  }

  return {
    list,
    callPlainly({ call, scopes }, wanted, signal) {
      const operation = operations.get(wanted.name);
      return operation && allows(operation.scope, scopes) ? run(operation, call, wanted, signal) : undefined;
    },
    async call({ account, call, scopes }, wanted) {
      const { name, given, mcpReq } = wanted;
      if (!list(scopes).some((tool) => tool.name === name)) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
      }
      const following = { lookUps: byPrefix, call, signal: mcpReq.signal };
      const operation = operations.get(name);
      if (operation === undefined) {
        return name === 'wait_for'
          ? waitFor(following, given, { waiting, account, mcpReq })
          : getOperation(following, given);
      }
      const asked = mcpReq.requestState<string>();
      if (asked !== undefined) return resultOfApproval(call, asked, mcpReq.signal);
      return run(operation, call, wanted, mcpReq.signal);
    },
  };
}

function toTool({ tool, description, input, output }: ToolOperation): Tool {
  const { readOnly, destructive, idempotent, openWorld } = tool.hints;
  return {
    name: tool.name,
    title: tool.title,
    description,
    inputSchema: input,
    outputSchema: output,
    annotations: {
      readOnlyHint: readOnly,
      // For a tool that only reads, the protocol gives these two no meaning.
      ...(!readOnly && { destructiveHint: destructive, idempotentHint: idempotent }),
      openWorldHint: openWorld,
    },
  } as unknown as Tool;
}

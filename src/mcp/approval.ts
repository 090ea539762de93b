import {
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
} from '@modelcontextprotocol/server';
import type { ApiAnswer, CallApi } from './api-port.ts';
import { refused, resultOf, success } from './result.ts';
import type { Json } from './schemas.ts';

interface Question {
  readonly status: 'approval_required';
  readonly approvalId: string;
  readonly url: string;
  readonly expiresAt: string;
  readonly summary: string;
}

function questionIn({ status, body }: ApiAnswer): Question | undefined {
  return status === 202 && body['status'] === 'approval_required' ? (body as unknown as Question) : undefined;
}

/**
 * Has the client show the page on which the owner decides. What the client answers decides nothing: the call is looked at again, and
 * only a signed-in owner can have changed it.
 */
export function askOwner(
  answer: ApiAnswer,
  capabilities: ClientCapabilities | undefined,
): InputRequiredResult | undefined {
  const question = questionIn(answer);
  if (question === undefined || capabilities?.elicitation?.url === undefined) return undefined;
  const { approvalId, url, summary } = question;
  const message = `The owner has to approve this payment: ${summary}`;
  return inputRequired({
    inputRequests: { approval: inputRequired.elicitUrl({ url, message }) },
    requestState: approvalId,
  });
}

/** After the page was shown. The id comes from the client, and the API shows a key only the approvals that it may see. */
export async function resultOfApproval(call: CallApi, id: string, signal: AbortSignal): Promise<CallToolResult> {
  const answer = await call({
    operationId: 'getApproval',
    method: 'GET',
    path: '/approvals/{id}',
    params: { id },
    query: {},
    body: undefined,
    headers: {},
    signal,
  });
  if (answer.status >= 400) return resultOf(answer);
  const { status, url, expiresAt, summary, reason, result } = answer.body as {
    readonly status: string;
    readonly url: string;
    readonly expiresAt: string;
    readonly summary: string;
    readonly reason: { readonly detail: string } | null;
    readonly result: { readonly status: number; readonly body: Json } | null;
  };
  if (status === 'pending') return success({ status: 'approval_required', approvalId: id, url, expiresAt, summary });
  if (result !== null) return resultOf(result);
  return refused({
    code: `approval_${status}`,
    title: `The approval is ${status}`,
    detail: reason?.detail ?? `Nothing was paid: ${summary}.`,
    nextStep: 'Do not ask again unless the owner tells you to.',
    approvalId: id,
  });
}

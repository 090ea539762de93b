import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { createPlaces, type Places } from '../kernel/places/places.ts';
import type { ApiAnswer, CallApi } from './api-port.ts';
import type { LookUp } from './operations.ts';
import { refusalSchema } from './refusal.ts';
import { refused, resultOf, success } from './result.ts';
import { eitherOf } from './schemas.ts';

const mostSeconds = 60;
/** What the API waits for at most, where it can wait. */
const mostSecondsAtOnce = 30;

const output = eitherOf([
  { type: 'object', properties: { status: { type: 'string' }, final: { type: 'boolean' } }, required: ['final'] },
  refusalSchema,
]);
const id = {
  type: 'string',
  description: 'Of a transfer, withdrawal, bridge, swap, order, invoice, approval or link.',
};

/** The tools that know every kind of id. Both read. */
export const followingTools: readonly Tool[] = [
  {
    name: 'get_operation',
    title: 'Look up an operation',
    description: 'Shows anything that has an id, as it is now. `final` tells whether its status can still change.',
    inputSchema: { type: 'object', properties: { id }, required: ['id'] },
    outputSchema: output,
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: 'wait_for',
    title: 'Wait for an operation',
    description:
      'Waits until an operation or approval is final, and shows it then, or as it is when the time is over. Call it again to wait longer.',
    inputSchema: {
      type: 'object',
      properties: { id, timeoutSeconds: { type: 'number', description: `1 to ${mostSeconds}. The default is 30.` } },
      required: ['id'],
    },
    outputSchema: output,
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
];

interface Following {
  readonly lookUps: ReadonlyMap<string, readonly LookUp[]>;
  readonly call: CallApi;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** Of the tools that wait. */
export interface Waiting {
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  readonly places: Places<'account'>;
}

/** In this process, and of one account. Beyond them a tool answers at once. */
export function createWaiting(stopping: AbortSignal): Waiting {
  return { stopping, places: createPlaces({ what: 'waiting tools', inAll: 1_000, shares: { account: 10 } }) };
}

type Arguments = Readonly<Record<string, unknown>>;

export async function getOperation(following: Following, given: Arguments): Promise<CallToolResult> {
  const found = await lookUp(following, given['id'], 0);
  return 'refusal' in found ? found.refusal : success(found.item);
}

interface WaitOptions {
  readonly waiting: Waiting;
  readonly account: string;
  readonly mcpReq: ServerContext['mcpReq'];
}

/** Looks again and again, ever more slowly, and tells the client of every change. */
export async function waitFor(
  following: Following,
  given: Arguments,
  { waiting, account, mcpReq }: WaitOptions,
): Promise<CallToolResult> {
  const { stopping, places } = waiting;
  const seconds = given['timeoutSeconds'] ?? 30;
  if (typeof seconds !== 'number' || !(seconds >= 1 && seconds <= mostSeconds)) {
    return invalid('timeoutSeconds', `must be a number from 1 to ${mostSeconds}`);
  }
  const mayWait = places.hasRoom({ account }) && !stopping.aborted;
  const until = performance.now() + (mayWait ? seconds * 1_000 : 0);
  const place = mayWait ? places.enter({ account }) : undefined;
  try {
    return await lookUntil(following, given['id'], { until, stopping, mcpReq });
  } finally {
    place?.leave();
  }
}

async function lookUntil(
  following: Following,
  id: unknown,
  { until, stopping, mcpReq }: { until: number; stopping: AbortSignal; mcpReq: ServerContext['mcpReq'] },
): Promise<CallToolResult> {
  const over = AbortSignal.any([following.signal, stopping]);
  const progressToken = mcpReq._meta?.progressToken;
  let told: unknown;
  for (let look = 0; ; look++) {
    const left = Math.max(0, until - performance.now());
    const found = await lookUp(following, id, look === 0 ? 0 : Math.floor(left / 1_000));
    if ('refusal' in found) return found.refusal;
    const { status, final } = found.item as { status?: unknown; final: boolean };
    if (final || left === 0 || over.aborted) return success(found.item);
    if (progressToken !== undefined && status !== told) {
      const params = { progressToken, progress: look, message: String(status) };
      await mcpReq.notify({ method: 'notifications/progress', params });
      told = status;
    }
    // The API answers at once when too many of the account wait, or less than a second is left.
    const seconds = found.waits ? 1 : Math.min(5, look + 1);
    await pause(Math.min(left, seconds * 1_000), over);
  }
}

type Found =
  | { readonly item: Readonly<Record<string, unknown>>; readonly waits: boolean }
  | { readonly refusal: CallToolResult };

async function lookUp({ lookUps, call, signal }: Following, given: unknown, waitSeconds: number): Promise<Found> {
  if (typeof given !== 'string') return { refusal: invalid('id', 'must be a string') };
  const places = lookUps.get(given.slice(0, given.indexOf('_'))) ?? [];
  let answer: ApiAnswer | undefined;
  for (const { operationId, method, path, parameter, waits, final } of places) {
    const wait = waits && waitSeconds > 0 ? { wait: String(Math.min(waitSeconds, mostSecondsAtOnce)) } : {};
    const request = { operationId, method, path, params: { [parameter]: given }, query: wait, headers: {} };
    answer = await call({ ...request, body: undefined, signal });
    if (answer.status === 404) continue;
    if (answer.status >= 400) return { refusal: resultOf(answer) };
    return { item: { ...answer.body, final: final.has(String(answer.body['status'])) }, waits };
  }
  return { refusal: answer === undefined ? unknownId(given) : resultOf(answer) };
}

function unknownId(given: string): CallToolResult {
  return refused({
    code: 'not_found',
    title: 'No operation has this id',
    detail: `${JSON.stringify(given.slice(0, 64))} is not the id of an operation.`,
    nextStep: 'Use an id that another tool returned, such as transferId or orderId.',
  });
}

function invalid(path: string, message: string): CallToolResult {
  return refused({
    code: 'invalid_request',
    title: 'The request is invalid',
    detail: `${path} ${message}.`,
    nextStep: 'Correct the arguments and call the tool again.',
    errors: [{ path, message }],
  });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}

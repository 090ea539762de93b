import { newId } from '../ids/ids.ts';
import { withPresentCaller } from './caller-changed.ts';
import { checkedJson } from './checked-json.ts';
import type { Caller, Route } from './define-route.ts';
import { readGuard } from './duplicate-guard.ts';
import { claimOf, type RequestHashes } from './idempotency-claim.ts';
import { validate } from './validate.ts';

/** What a handler needs of a request to run again without its connection. Plain JSON. */
export interface KeptRequest {
  readonly routeId: string;
  readonly params: unknown;
  /** Before validation. */
  readonly body: unknown;
  readonly ip: string;
  readonly idempotencyKey: string | undefined;
  /** Left out by earlier releases. */
  readonly duplicateGuard?: string | undefined;
}

export interface RouteAnswer {
  readonly status: number;
  /** Only with declared fields. */
  readonly body: unknown;
}

/** The parts of a kept request, as its handler reads them. */
export function readKept(
  { spec }: Route,
  { params, body: given, idempotencyKey }: KeptRequest,
  secrets: RequestHashes,
) {
  const body = validate('body', spec.body, given);
  return {
    body,
    params: spec.params && validate('params', spec.params, params),
    idempotency:
      idempotencyKey === undefined ? undefined : claimOf(idempotencyKey, { routeId: spec.id, params, body }, secrets),
  };
}

/** Runs the handler of a kept request. Only for routes that read nothing else of their request, and answer with JSON. */
export async function repeatRequest(
  route: Route,
  kept: KeptRequest,
  caller: Caller,
  secrets: RequestHashes,
): Promise<RouteAnswer> {
  const read = readKept(route, kept, secrets);
  const guard = route.spec.guarded && readGuard(kept.duplicateGuard, read.body as object | undefined, caller);
  const request = { ...read, guard, requestId: newId('req'), ip: kept.ip };
  const answer = await withPresentCaller(caller, (present) => route.handle({ ...request, caller: present }));
  if (!('body' in answer)) throw new Error(`${route.spec.id} does not answer with JSON`);
  return { ...answer, body: JSON.parse(checkedJson(route, answer)) };
}

import type { ShopMessage, ShopReply } from '../message.ts';
import { readUcpPath, type UcpVersion } from '../ucp-versions.ts';
import { type Ask, findSession } from './ask.ts';
import { cancelSession } from './cancel-session.ts';
import { type CheckAgentOptions, checkAgent, checkSignedAgent } from './check-agent.ts';
import { completeSession } from './complete-session.ts';
import { createSession } from './create-session.ts';
import type { Desk } from './desk.ts';
import { fingerprintOf, type KeyedRequest, type Once } from './once.ts';
import { ShopRefusal } from './refusal-reply.ts';
import type { Payments } from './settle-payments.ts';
import { showSession } from './show-session.ts';
import { updateSession } from './update-session.ts';

export interface Counter {
  readonly desk: Desk;
  readonly payments: Payments;
  readonly once: Once;
  readonly agents: CheckAgentOptions;
}

export type Verb = 'create' | 'show' | 'update' | 'complete' | 'cancel';

/** A checkout request, over REST or MCP. */
export interface CheckoutCall {
  readonly version: UcpVersion;
  readonly verb: Verb;
  /** Empty for `create`. */
  readonly sessionId: string;
  readonly origin: string;
  readonly body: unknown;
  readonly request: KeyedRequest;
  /** Throws unless the agent is admitted. */
  readonly admit: () => Promise<void>;
}

/** Turns a refusal into its response. */
export async function answerCall(call: CheckoutCall, counter: Counter): Promise<ShopReply> {
  try {
    return await answer(call, counter);
  } catch (error) {
    if (error instanceof ShopRefusal) return error.reply;
    throw error;
  }
}

/** Checkout over REST. Undefined for any other path. */
export async function answerCheckout(message: ShopMessage, counter: Counter): Promise<ShopReply | undefined> {
  const call = readCall(message);
  if (call === undefined) return undefined;
  const { version, verb } = call;
  const { method, target, headers, bytes, origin, body } = message;
  const check = verb === 'show' ? checkAgent : checkSignedAgent;
  return answerCall(
    {
      ...call,
      origin,
      body,
      request: { key: headers['idempotency-key'], fingerprint: fingerprintOf(`${method} ${target}`, bytes) },
      admit: () => check(message, version, counter.agents),
    },
    counter,
  );
}

function readCall({ method, url }: ShopMessage): Pick<CheckoutCall, 'version' | 'verb' | 'sessionId'> | undefined {
  const { version, rest } = readUcpPath(url.pathname) ?? {};
  if (version === undefined || rest === undefined) return undefined;
  const [, sessionId = '', action] =
    /^\/checkout-sessions(?:\/([A-Za-z0-9_-]+)(?:\/(complete|cancel))?)?$/.exec(rest) ?? [];
  if (rest === '/checkout-sessions') return method === 'POST' ? { version, verb: 'create', sessionId } : undefined;
  if (sessionId === '') return undefined;
  if (action === 'complete' || action === 'cancel') {
    return method === 'POST' ? { version, verb: action, sessionId } : undefined;
  }
  if (method === 'GET') return { version, verb: 'show', sessionId };
  return method === 'PUT' ? { version, verb: 'update', sessionId } : undefined;
}

async function answer(call: CheckoutCall, { desk, payments, once }: Counter): Promise<ShopReply> {
  const { version, verb, origin, request } = call;
  const show = (sessionId: string) => showSession(findSession(desk, { sessionId, version }), desk, { origin });
  await call.admit();
  if (verb === 'show') return show(call.sessionId);
  const verbs: Readonly<Record<Exclude<Verb, 'show'>, (ask: Ask) => Promise<ShopReply>>> = {
    create: (ask) => createSession(desk, ask),
    update: (ask) => updateSession(desk, ask),
    complete: (ask) => completeSession(desk, ask, payments),
    cancel: (ask) => cancelSession(desk, ask),
  };
  return once.run(request, show, (keep) => verbs[verb]({ ...call, keep }));
}

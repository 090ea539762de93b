import type { ShopMessage, ShopReply } from '../message.ts';
import { readUcpPath, type UcpVersion } from '../ucp-versions.ts';
import { type Ask, findSession } from './ask.ts';
import { cancelSession } from './cancel-session.ts';
import { type CheckAgentOptions, checkAgent, checkSignedAgent } from './check-agent.ts';
import { completeSession } from './complete-session.ts';
import { createSession } from './create-session.ts';
import type { Desk } from './desk.ts';
import type { Once } from './once.ts';
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

type Verb = 'create' | 'show' | 'update' | 'complete' | 'cancel';

/** UCP's checkout over REST. Undefined for any other address. */
export async function answerCheckout(message: ShopMessage, counter: Counter): Promise<ShopReply | undefined> {
  const call = readCall(message);
  if (call === undefined) return undefined;
  try {
    return await answer(message, call, counter);
  } catch (error) {
    if (error instanceof ShopRefusal) return error.reply;
    throw error;
  }
}

interface Call {
  readonly version: UcpVersion;
  readonly verb: Verb;
  readonly sessionId: string;
}

function readCall({ method, url }: ShopMessage): Call | undefined {
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

async function answer(message: ShopMessage, call: Call, { desk, payments, once, agents }: Counter): Promise<ShopReply> {
  const { version, verb } = call;
  const { origin, body } = message;
  const show = (sessionId: string) => showSession(findSession(desk, { sessionId, version }), desk, { origin });
  if (verb === 'show') {
    await checkAgent(message, version, agents);
    return show(call.sessionId);
  }
  await checkSignedAgent(message, version, agents);
  const verbs: Readonly<Record<Exclude<Verb, 'show'>, (ask: Ask) => Promise<ShopReply>>> = {
    create: (ask) => createSession(desk, ask),
    update: (ask) => updateSession(desk, ask),
    complete: (ask) => completeSession(desk, ask, payments),
    cancel: (ask) => cancelSession(desk, ask),
  };
  return once.run(message, show, (keep) => verbs[verb]({ ...call, origin, body, keep }));
}

import { createHash, randomUUID } from 'node:crypto';
import type { Clock } from '../../../src/kernel/clock.ts';
import { json, type ShopMessage, type ShopReply } from '../message.ts';
import { readUcpPath, type UcpVersion } from '../ucp-versions.ts';
import { type CheckAgentOptions, checkAgent, checkSignedAgent } from './agent-profiles.ts';
import { cancelSession, createSession, updateSession } from './change-session.ts';
import { type Ask, type Desk, findSession } from './desk.ts';
import { readToken } from './read-body.ts';
import { type Notice, protocolError, ShopRefusal } from './refusal-reply.ts';
import { type Books, type KeptAnswer, type Session, totalOf } from './session.ts';
import type { Payments } from './settle-payments.ts';
import { assessSession, paymentFailed, showSession } from './show-session.ts';

/** Checks that the price is unchanged, reserves the stock, and only then redeems the payment. */
async function completeSession(desk: Desk, ask: Ask, payments: Payments): Promise<ShopReply> {
  const { books, shelf, behaviour } = desk;
  const { origin, body, keep } = ask;
  const token = readToken(body);
  const found = findSession(desk, ask);
  if (found.state !== 'open') return showSession(found, desk, { origin });

  const session: Session = {
    ...price(found, desk),
    needsBuyer: found.needsBuyer || behaviour().askForBuyer === 'complete',
  };
  const answer = async (notices: readonly Notice[] = []) => {
    const reply = showSession(session, desk, { origin, notices });
    await books.commit([['session', session.id, session], keep(session.id, reply)]);
    return reply;
  };
  if (totalOf(session) !== totalOf(found)) return answer([priceChanged]);
  if (assessSession(session, desk).status !== 'ready_for_complete') return answer();
  if (token === undefined) return answer([paymentFailed('This shop knows no such way to pay.')]);
  const taken = shelf.take(session.lines);
  if (taken === undefined) return answer();

  const attempt = {
    key: randomUUID(),
    token,
    amount: totalOf(session) + behaviour().redeemMore,
    currency: behaviour().redeemCurrency ?? session.currency,
  };
  const completing: Session = { ...session, state: 'completing', paymentRefused: undefined, attempt };
  // From here on the payment is carried through, even if this process or the client goes away.
  await books.commit([...taken, ['session', session.id, completing], keep(session.id)]);
  await payments.begin(session.id);

  const reply = showSession(books.get('session', session.id) ?? completing, desk, { origin });
  await books.commit([keep(session.id, reply)]);
  return books.get('session', session.id)?.state === 'completed' ? answerOddly(reply, desk) : reply;
}

const priceChanged: Notice = {
  code: 'price_changed',
  content: 'A price has changed since you last looked.',
  severity: 'recoverable',
  path: '$.totals',
};

function price(session: Session, { shelf, behaviour }: Desk): Session {
  const lines = session.lines.map((line) => {
    const { cents, shippingCents } = shelf.find(line.itemId) ?? line;
    return { ...line, cents: cents + behaviour().raisePriceBy, shippingCents };
  });
  return { ...session, lines };
}

/** Applies the configured fault to the response of a recorded order. */
function answerOddly(reply: ShopReply, { behaviour }: Desk): ShopReply {
  const { answerLateMs: lateMs, answer } = behaviour();
  if (answer === 'never') return { ...reply, oddity: 'held' };
  if (answer === 'twice') return { ...reply, lateMs, oddity: 'twice' };
  if (answer === 'garbage') return { ...reply, lateMs, body: '<!doctype html><p>Thank you for your order' };
  if (answer === 'error') {
    return json({ code: 'internal_error', content: 'The till is jammed.' }, { status: 500, lateMs });
  }
  return { ...reply, lateMs };
}

interface KeyedRequest {
  readonly key: unknown;
  /** Identical only for identical requests. */
  readonly fingerprint: string;
}

/** Shows the checkout if the stored request has no response, because a crash came in between. */
type TellAgain = (sessionId: string) => ShopReply;

interface Running {
  readonly fingerprint: string;
  readonly reply: Promise<ShopReply>;
}

/** Runs a request once per Idempotency-Key. */
export function createOnce(books: Books, clock: Clock) {
  const running = new Map<string, Running>();

  return async (
    { key, fingerprint }: KeyedRequest,
    tell: TellAgain,
    act: (keep: Ask['keep']) => Promise<ShopReply>,
  ): Promise<ShopReply> => {
    if (typeof key !== 'string' || key.length < 16 || key.length > 255) {
      throw protocolError('invalid_request', 'Idempotency-Key must be a UUID.');
    }
    const known: Running | KeptAnswer | undefined = running.get(key) ?? books.get('answer', key);
    if (known !== undefined && known.fingerprint !== fingerprint) {
      throw protocolError('idempotency_conflict', 'This Idempotency-Key was used for another request.');
    }
    if (known !== undefined) return 'sessionId' in known ? tellAgain(known, tell) : known.reply;

    const keep: Ask['keep'] = (sessionId, reply) => [
      'answer',
      key,
      { fingerprint, sessionId, reply: reply && { status: reply.status, body: String(reply.body) }, at: clock.now() },
    ];
    const reply = act(keep).finally(() => running.delete(key));
    running.set(key, { fingerprint, reply });
    return reply;
  };
}

function tellAgain({ reply, sessionId }: KeptAnswer, tell: TellAgain): ShopReply {
  return reply === undefined ? tell(sessionId) : { ...reply, type: 'application/json; charset=utf-8' };
}

export function fingerprintOf(what: string, content: string | Buffer): string {
  return createHash('sha256').update(`${what}\n`).update(content).digest('base64url');
}

export interface Counter {
  readonly desk: Desk;
  readonly payments: Payments;
  readonly once: ReturnType<typeof createOnce>;
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
  return once(request, show, (keep) => verbs[verb]({ ...call, keep }));
}

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { encodeFunctionData, type Hex, isHex, parseAbi, size, zeroHash } from 'viem';
import { cctp } from '../../src/chains/cctp.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { type ChainId, chains as facts } from '../../src/money/catalogue.ts';
import { attesters } from '../accounts.ts';
import type { LocalChain } from '../chains/local-chain.ts';
import { readBody } from '../chains/request-guard.ts';
import {
  type AttestationBehaviour,
  attestationBehaviour,
  badRequest,
  completed,
  failure,
  notFound,
  ok,
  pending,
  type ServiceAnswer,
  tooMany,
} from './attestation-answers.ts';
import { findByNonce, hasNonce, messagesOf } from './burn-messages.ts';

/** Lets tests set the service's behaviour and read its counters. The real service has no such path. */
export const behaviourPath = '/attestation-behaviour';

/** The service shares its port with the chains. */
export function isForAttestations(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return path.startsWith('/v2/') || path === behaviourPath;
}

export async function serveAttestations(
  service: AttestationService,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await readBody(request)) ?? '';
  if (pathOf(request) === behaviourPath) return sayBehaviour(service, request, response, body);
  const answer = await service.answer(new URL(request.url ?? '/', 'http://attestations'));
  // The connection stays open until the client or the server closes it.
  if (answer === 'hang') return;
  if (answer === 'disconnect') {
    response.destroy();
    return;
  }
  const id = request.headers['x-request-id'] ?? randomUUID();
  response.writeHead(answer.status, { 'content-type': 'application/json', 'x-request-id': id }).end(answer.body);
}

function sayBehaviour(service: AttestationService, request: IncomingMessage, response: ServerResponse, body: string) {
  const say = (status: number, content: object) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  };
  try {
    if (request.method === 'PUT') service.behave(JSON.parse(body));
    say(200, { behaviour: service.behaviour, asked: service.asked });
  } catch (error) {
    say(400, { code: 400, message: (error as Error).message });
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.replace(/\?.*$/, '');
}

/** A rate limit per second. Exceeding it blocks all requests for a while. */
class RequestLimit {
  readonly #clock: Clock;
  #recent: number[] = [];
  #blockedUntil = 0;
  total = 0;
  mostInOneSecond = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  letsIn({ mostPerSecond, blockedMs }: { mostPerSecond: number; blockedMs: number }): boolean {
    const now = this.#clock.now();
    this.#recent = this.#recent.filter((time) => time > now - 1_000);
    this.#recent.push(now);
    this.total++;
    this.mostInOneSecond = Math.max(this.mostInOneSecond, this.#recent.length);
    if (now < this.#blockedUntil) return false;
    if (this.#recent.length <= mostPerSecond) return true;
    this.#blockedUntil = now + blockedMs;
    return false;
  }
}

export type AttestationService = ReturnType<typeof createAttestationService>;

export interface AttestationServiceOptions {
  readonly chains: ReadonlyMap<ChainId, LocalChain>;
  readonly clock: Clock;
}

/** Bounds memory; the oldest transaction is forgotten first. */
const mostRemembered = 10_000;

const messageFaults: ReadonlySet<string> = new Set(['foreign_message', 'wrong_signatures']);

/** Circle's attestation service for the local chains, with the response formats of its published API. */
export function createAttestationService({ chains, clock }: AttestationServiceOptions) {
  const byDomain = new Map<number, LocalChain>([...chains.values()].map((chain) => [facts[chain.id].domain, chain]));
  let limit = new RequestLimit(clock);
  const firstAsked = new Map<Hex, number>();
  let behaviour = attestationBehaviour.parse({});
  let faultsLeft = Number.POSITIVE_INFINITY;

  /** The time since the first request for a transaction. A restart resets it. */
  function askedForMs(txHash: Hex): number {
    const first = firstAsked.get(txHash) ?? clock.now();
    firstAsked.set(txHash, first);
    const [oldest] = firstAsked.keys();
    if (firstAsked.size > mostRemembered && oldest !== undefined) firstAsked.delete(oldest);
    return clock.now() - first;
  }

  /** Consumes the configured fault if it applies at this point. */
  function takeFault(shows: 'instead of an answer' | 'in a message'): AttestationBehaviour['fault'] {
    const { fault } = behaviour;
    if (fault === null || faultsLeft <= 0 || messageFaults.has(fault) !== (shows === 'in a message')) return null;
    faultsLeft--;
    return fault;
  }

  async function messages(url: URL, domain: string): Promise<ServiceAnswer> {
    const [txHash, nonce] = [url.searchParams.get('transactionHash'), url.searchParams.get('nonce')];
    if (!/^\d{1,9}$/.test(domain) || (txHash === null && nonce === null)) return badRequest;
    if (!isHash(txHash ?? zeroHash) || !isHash(nonce ?? zeroHash)) return badRequest;
    const chain = byDomain.get(Number(domain));
    if (chain === undefined) return notFound;
    const asked = txHash ?? (await findByNonce(chain, nonce as Hex));
    if (asked === undefined) return notFound;
    const told = (await messagesOf(chain, asked as Hex)).filter((one) => nonce === null || hasNonce(one, nonce as Hex));
    if (told.length === 0) return notFound;
    const age = askedForMs(asked.toLowerCase() as Hex);
    if (age < behaviour.unseenMs) return notFound;
    const isPending = behaviour.neverAttests || age < behaviour.unseenMs + behaviour.pendingMs;
    const fault = isPending ? null : takeFault('in a message');
    const listed: object[] = [];
    for (const message of told) listed.push(isPending ? pending(behaviour) : await completed(message, fault));
    return ok({ messages: listed.flatMap((one) => Array.from({ length: behaviour.copies }, () => one)) });
  }

  return {
    get behaviour() {
      return behaviour;
    },
    get asked() {
      return { total: limit.total, mostInOneSecond: limit.mostInOneSecond };
    },
    /** Replaces the behaviour; omitted fields get their defaults, and all counters are reset. */
    behave(given: unknown): void {
      behaviour = attestationBehaviour.parse(given);
      faultsLeft = behaviour.faults ?? Number.POSITIVE_INFINITY;
      limit = new RequestLimit(clock);
    },
    async answer(url: URL): Promise<ServiceAnswer> {
      if (!limit.letsIn(behaviour)) return tooMany;
      const fault = takeFault('instead of an answer');
      if (fault === 'hang' || fault === 'disconnect') return fault;
      if (fault === 'error') return failure(500, 'Internal server error.');
      if (fault === 'blocked') return tooMany;
      if (fault === 'malformed') return { status: 200, body: '{"messages":[{"message":"0x' };
      if (fault === 'other_fields') return ok({ data: { items: [] } });
      if (fault === 'empty') return ok({ messages: [] });
      const [, domain] = /^\/v2\/messages\/([^/]+)$/.exec(url.pathname) ?? [];
      if (domain !== undefined) return messages(url, domain);
      if (url.pathname === '/v2/publicKeys') return ok({ publicKeys });
      const [, source, destination] = /^\/v2\/burn\/USDC\/fees\/(\d{1,9})\/(\d{1,9})$/.exec(url.pathname) ?? [];
      const from = byDomain.get(Number(source));
      if (from !== undefined && byDomain.has(Number(destination))) return ok(await fees(from));
      return notFound;
    },
  };
}

const publicKeys = attesters.map(({ publicKey }) => ({ publicKey, cctpVersion: '2' }));

/** Both speeds cost the same, because a local chain is final at once. */
async function fees(chain: LocalChain): Promise<object> {
  const data = encodeFunctionData({ abi: parseAbi(['function minFee() view returns (uint256)']) });
  const outcome = await chain.request({ method: 'eth_call', params: [{ to: cctp.tokenMessenger, data }, 'latest'] });
  if ('error' in outcome) throw new Error(`the fee on ${chain.id} cannot be read: ${outcome.error.message}`);
  // The contract counts in thousandths of a basis point.
  const minimumFee = Number(outcome.result as Hex) / 1_000;
  return { data: [1_000, 2_000].map((finalityThreshold) => ({ finalityThreshold, minimumFee })) };
}

function isHash(text: string): boolean {
  return isHex(text) && size(text) === 32;
}

import { join } from 'node:path';
import { type Clock, systemClock } from '../../../src/kernel/clock.ts';
import type { Logger } from '../../../src/kernel/log/logger.ts';
import {
  createSigningKey,
  exportSigningKey,
  importSigningKey,
  type SigningKey,
} from '../../../src/kernel/signing/signing-key.ts';
import type { ShopProduct } from '../catalog.ts';
import type { ShopMessage, ShopReply } from '../message.ts';
import { checkProfile, createAgentProfiles } from './agent-profiles.ts';
import { answerCall, answerCheckout, type CheckoutCall, createOnce } from './answer-checkout.ts';
import { openJournal } from './journal.ts';
import type { Books, Session, Tables } from './session.ts';
import { settlePayments } from './settle-payments.ts';
import { createShelf } from './shelf.ts';
import { paymentHandlers } from './show-session.ts';
import { answerSwitches, createSwitches } from './switches.ts';

export type Checkout = Awaited<ReturnType<typeof openCheckout>>;

/** A tool call over MCP. The unguessable checkout id authorizes it. */
interface ToolCall extends Omit<CheckoutCall, 'admit'> {
  readonly profile: unknown;
}

export interface CheckoutOptions {
  readonly catalog: readonly ShopProduct[];
  readonly domain: string;
  /** The shop's hosts. */
  readonly authorities: () => readonly string[];
  /** The service that pays the shop. */
  readonly publicUrl: () => string;
  readonly logger: Logger;
  /** Where its journal is; without one it forgets everything on close. */
  readonly folder: string | undefined;
  readonly clock?: Clock;
}

export async function openCheckout(options: CheckoutOptions) {
  const { catalog, domain, authorities, publicUrl, logger, folder, clock = systemClock } = options;
  const books = await openJournal<Tables>(folder === undefined ? undefined : join(folder, 'journal.jsonl'));
  const shelf = createShelf(catalog, books);
  const switches = createSwitches(books, shelf);
  const signingKey = keepSigningKey(books);
  const desk = { clock, logger, books, shelf, behaviour: () => switches.behaviour, signingKey, publicUrl, domain };
  const payments = settlePayments(desk);
  const profiles = createAgentProfiles(clock, publicUrl);
  const once = createOnce(books, clock);
  const counter = () => ({ desk, payments, once, agents: { clock, profiles, authorities: authorities() } });

  return {
    switches,
    products: () => shelf.products(),
    /** Newest first. */
    orders: () => [...books.all('order')].map(([, order]) => order).reverse(),
    findOrder: (id: string) => books.get('order', id),
    /** A checkout that has not ended. */
    findSession(id: string): Session | undefined {
      const session = books.get('session', id);
      return session?.state === 'open' || session?.state === 'completing' ? session : undefined;
    },
    paymentHandlers: () => paymentHandlers(desk),
    publicKey: async () => (await signingKey()).publicJwk,
    /** Undefined for a path of another part of the shop. */
    async answer(message: ShopMessage): Promise<ShopReply | undefined> {
      return (await answerCheckout(message, counter())) ?? (await answerSwitches(message, switches, shelf));
    },
    call: ({ profile, ...call }: ToolCall): Promise<ShopReply> =>
      answerCall({ ...call, admit: () => checkProfile(profile, call.version, counter().agents) }, counter()),
    /** Stops redeeming payments, so that closing does not wait for responses. */
    stopAsking: () => payments.stop(),
    close: () => books.close(),
  };
}

function keepSigningKey(books: Books): () => Promise<SigningKey> {
  let kept: Promise<SigningKey> | undefined;
  async function findOrMake(): Promise<SigningKey> {
    const text = books.get('secret', 'signing-key');
    if (text !== undefined) return importSigningKey(text);
    const key = createSigningKey();
    await books.commit([['secret', 'signing-key', exportSigningKey(key)]]);
    return key;
  }
  return () => {
    kept ??= findOrMake();
    return kept;
  };
}

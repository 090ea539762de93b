import { readTokenDomain } from '../../chains/authorization.ts';
import type { Network, Networks } from '../../chains/network.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Amount } from '../../money/amount.ts';
import { tokenAddress } from './claim.ts';
import { askChain, createFunds } from './funds.ts';
import { createRecoverPayer } from './recover-payer.ts';
import { type Price, paymentChain } from './terms.ts';

export type PaymentReceiver = ReturnType<typeof createPaymentReceiver>;

/** How soon a new treasury is paid. Payments signed for the old one are still settled. */
const treasuryKeptMs = 5_000;

export interface PaymentReceiverParts {
  readonly db: Queryable;
  readonly networks: Networks;
  readonly clock: Clock;
}

/** How payments are received: the token, the receiving address, and the payers' funds. */
export function createPaymentReceiver({ db, networks, clock }: PaymentReceiverParts) {
  const network = requireHome(networks);
  const token = tokenAddress(network, 'USDC');
  // Only the token contract knows its domain, which never changes. Until it has answered, nothing can be sold.
  const readDomain = remember(() => readTokenDomain(network, token), { clock });
  const readRecover = remember(async () => createRecoverPayer(await readDomain()), { clock });
  const readPayTo = remember(async () => (await houseWallet(db, 'treasury', paymentChain)).address, {
    clock,
    keepMs: treasuryKeptMs,
  });

  return {
    token,
    funds: createFunds(db, network, token, clock),
    async priceOf(amount: Amount): Promise<Price> {
      const [{ name = '', version = '' }, address] = await Promise.all([askChain(readDomain()), readPayTo()]);
      return { amount, token, domain: { name, version }, payTo: address };
    },
    recover: () => askChain(readRecover()),
  };
}

/** Shares one read among concurrent callers and keeps its result. A failed read is not kept. */
export function remember<Value>(
  read: () => Promise<Value>,
  { clock, keepMs = Number.POSITIVE_INFINITY }: { readonly clock: Clock; readonly keepMs?: number },
): () => Promise<Value> {
  let known: { readonly value: Promise<Value>; readonly until: number } | undefined;
  return () => {
    if (known === undefined || known.until <= clock.now()) {
      const value = read();
      known = { value, until: clock.now() + keepMs };
      value.catch(() => {
        known = undefined;
      });
    }
    return known.value;
  };
}

/** Live mode does not start without Polygon. */
export function requireHome(networks: Networks): Network {
  const network = networks.get(paymentChain);
  if (network === undefined) throw new Error(`payments are taken on ${paymentChain}, which is not configured`);
  return network;
}

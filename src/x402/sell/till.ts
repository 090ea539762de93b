import type { Hex, TypedDataDomain } from 'viem';
import { readTokenDomain } from '../../chains/authorization.ts';
import { type Network, type Networks, tokenOf } from '../../chains/network.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Amount } from '../../money/amount.ts';
import { askChain } from './ask-chain.ts';
import { createFunds, type Funds } from './funds.ts';
import { createRecoverPayer, type RecoverPayer } from './recover-payer.ts';
import { homeOfPayments, type Price } from './terms.ts';

/** How payments are received: the token, the receiving address, and the payers' funds. */
export interface Till {
  readonly token: Hex;
  priceOf(amount: Amount): Promise<Price>;
  recover(): Promise<RecoverPayer>;
  readonly funds: Funds;
}

/**
 * After a rotation new payments go to the new treasury within this time. Payments signed for the old one are still
 * settled.
 */
const treasuryKeptMs = 5_000;

export interface TillParts {
  readonly db: Queryable;
  readonly networks: Networks;
  readonly clock: Clock;
}

export function openTill({ db, networks, clock }: TillParts): Till {
  const network = requireHome(networks);
  const token = usdcOf(network);
  let domain: Promise<TypedDataDomain> | undefined;
  let recover: Promise<RecoverPayer> | undefined;
  let treasury: { readonly address: Promise<Hex>; readonly until: number } | undefined;

  /** Only the token contract knows its domain, which never changes. Until it has answered, nothing can be sold. */
  function readDomain(): Promise<TypedDataDomain> {
    domain ??= readTokenDomain(network, token).catch((error: unknown) => {
      domain = undefined;
      throw error;
    });
    return domain;
  }

  function payTo(): Promise<Hex> {
    if (treasury === undefined || treasury.until <= clock.now()) {
      const address = houseWallet(db, 'treasury', homeOfPayments).then((wallet) => wallet.address);
      treasury = { address, until: clock.now() + treasuryKeptMs };
      address.catch(() => {
        treasury = undefined;
      });
    }
    return treasury.address;
  }

  return {
    token,
    funds: createFunds({ db, network, token, clock }),
    async priceOf(amount) {
      const [{ name = '', version = '' }, address] = await Promise.all([askChain(readDomain()), payTo()]);
      return { amount, token, domain: { name, version }, payTo: address };
    },
    async recover() {
      recover ??= readDomain().then(createRecoverPayer);
      recover.catch(() => {
        recover = undefined;
      });
      return askChain(recover);
    },
  };
}

/** Live mode does not start without Polygon. */
export function requireHome(networks: Networks): Network {
  const network = networks.get(homeOfPayments);
  if (network === undefined) throw new Error(`payments are taken on ${homeOfPayments}, which is not configured`);
  return network;
}

function usdcOf(network: Network): Hex {
  const token = tokenOf(network, 'USDC');
  if (token === undefined) throw new Error(`there is no USDC on ${network.id}`);
  return token.address;
}
